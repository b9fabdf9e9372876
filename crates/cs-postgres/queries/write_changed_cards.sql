-- Writes cards that changed, where nobody wrote them since they were read.
update cards o set
    state = w.state,
    reason = w.reason,
    codebase_id = w.codebase_id,
    agent = w.agent,
    owner_id = w.owner_id,
    machine_id = w.machine_id,
    opening = w.opening,
    priority = w.priority,
    not_before = w.not_before,
    recovery = w.recovery,
    done = w.done,
    last_seq = w.last_seq,
    ready_for = w.ready_for,
    ready_from = w.ready_from,
    usage_turns = w.usage_turns,
    usage_input_tokens = w.usage_input_tokens,
    usage_output_tokens = w.usage_output_tokens,
    usage_cost_microusd = w.usage_cost_microusd,
    updated_at = w.updated_at,
    version = w.version,
    landings_returned = w.landings_returned,
    model = w.model,
    effort = w.effort,
    usage_cached_tokens = w.usage_cached_tokens,
    usage_reasoning_tokens = w.usage_reasoning_tokens
from unnest(
    $1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::uuid[], $8::uuid[],
    $9::text[], $10::smallint[], $11::bigint[], $12::boolean[], $13::boolean[], $14::bigint[], $15::text[],
    $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[],
    $24::text[], $25::text[], $26::bigint[], $27::bigint[]) as w (
    id, was_version, state, reason, codebase_id, agent, owner_id, machine_id, opening, priority, not_before,
    recovery, done, last_seq, ready_for, ready_from, usage_turns, usage_input_tokens, usage_output_tokens,
    usage_cost_microusd, updated_at, version, landings_returned, model, effort,
    usage_cached_tokens, usage_reasoning_tokens)
where o.id = any ($1) and o.id = w.id and o.version = w.was_version
