-- Writes asks that changed, where they are as they were read.
update asks o set
    addressee = w.addressee,
    state = w.state,
    answer = w.answer,
    answered_by_kind = w.answered_by_kind,
    answered_by = w.answered_by,
    answered_at = w.answered_at,
    delivered = w.delivered,
    given = w.given
from unnest(
    $1::uuid[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::bigint[], $11::boolean[], $12::bigint[]) as w (
    id, was_addressee, was_state, was_delivered, addressee, state, answer, answered_by_kind, answered_by,
    answered_at, delivered, given)
where o.id = any ($1) and o.id = w.id and o.addressee = w.was_addressee
  and o.state = w.was_state and o.delivered = w.was_delivered
