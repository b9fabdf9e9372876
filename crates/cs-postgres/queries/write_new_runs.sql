-- Writes runs that are new.
insert into runs (
    id, card_id, kind, parent_id, codebase_id, model, effort, state, epoch, token, machine_id, agent, pid,
    start_ticks, boot_id, started_at, resumed_at, ended_at, again_at, failure, failed_because, failures_in_row,
    tries, starts, settled, given, read_back, handed_back_at, fresh, left_behind, left_at, used)
select * from unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[],
    $9::bigint[], $10::text[], $11::uuid[], $12::text[], $13::bigint[], $14::bigint[], $15::text[],
    $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::text[], $21::text[], $22::bigint[],
    $23::bigint[], $24::bigint[], $25::bigint[], $26::bigint[], $27::boolean[], $28::bigint[], $29::boolean[],
    $30::text[], $31::bigint[], $32::text[]) as w
