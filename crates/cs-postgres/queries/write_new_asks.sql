-- Writes asks that are new.
insert into asks (
    id, card_id, run_id, question, choices, offer, offer_message, addressee, state, answer, answered_by_kind,
    answered_by, asked_at, answered_at, delivered, given, turn_id)
select * from unnest(
    $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::text[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[],
    $15::boolean[], $16::bigint[], $17::uuid[]) as w
