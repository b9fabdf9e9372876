-- Writes the marks of turns that changed, where they are as they were read.
update turns o set
    state = w.state,
    run_id = w.run_id
from unnest(
    $1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::uuid[]) as w (
    id, was_state, was_run_id, state, run_id)
where o.id = any ($1) and o.id = w.id and o.state = w.was_state and o.run_id is not distinct from w.was_run_id
