-- Writes cards that are new.
insert into cards (
    id, title, state, reason, person, codebase_id, base, agent, owner_id, machine_id, opening, priority,
    not_before, recovery, done, last_seq, ready_for, ready_from, usage_turns, usage_input_tokens,
    usage_output_tokens, usage_cost_microusd, created_at, updated_at, version, landings_returned, model, effort,
    usage_cached_tokens, usage_reasoning_tokens)
select * from unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::uuid[],
    $10::uuid[], $11::text[], $12::smallint[], $13::bigint[], $14::boolean[], $15::boolean[], $16::bigint[],
    $17::text[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[],
    $24::bigint[], $25::bigint[], $26::bigint[], $27::text[], $28::text[], $29::bigint[], $30::bigint[]) as w
