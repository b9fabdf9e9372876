-- Writes landings that changed, where the attempt is the one that was read.
update landings o set
    state = w.state,
    epoch = w.epoch,
    token = w.token,
    commit_id = w.commit_id,
    result = w.result,
    ended_at = w.ended_at,
    evidence = w.evidence
from unnest(
    $1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
    $8::text[], $9::text[], $10::bigint[], $11::text[]) as w (
    id, was_epoch, was_token, was_state, state, epoch, token, commit_id, result, ended_at, evidence)
where o.id = any ($1) and o.id = w.id and o.epoch = w.was_epoch and o.token is not distinct from w.was_token
  and o.state = w.was_state
