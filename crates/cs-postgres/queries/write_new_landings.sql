-- Writes landings that are new.
insert into landings (
    id, card_id, codebase_id, ask_id, message, state, epoch, token, machine_id, accepted_by, accepted_at,
    commit_id, result, ended_at, base, method, evidence)
select * from unnest(
    $1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[],
    $8::text[], $9::uuid[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bigint[],
    $15::text[], $16::text[], $17::text[]) as w
