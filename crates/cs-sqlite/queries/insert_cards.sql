-- Inserts cards from a JSON array. As many rows must change as the array has.
insert into cards (
    id, title, state, reason, person, codebase_id, base, agent, owner_id, machine_id, opening, priority, not_before,
    recovery, done, last_seq, ready_for, ready_from, usage_turns, usage_input_tokens, usage_output_tokens,
    usage_cost_microusd, created_at, updated_at, version, landings_returned, model, effort,
    usage_cached_tokens, usage_reasoning_tokens)
select
    value->>'id', value->>'title', value->>'state', value->>'reason', value->>'person', value->>'codebase_id',
    value->>'base', value->>'agent', value->>'owner_id', value->>'machine_id', value->>'opening', value->>'priority',
    value->>'not_before', value->>'recovery', value->>'done', value->>'last_seq', value->>'ready_for',
    value->>'ready_from', value->>'usage_turns', value->>'usage_input_tokens', value->>'usage_output_tokens',
    value->>'usage_cost_microusd', value->>'created_at', value->>'updated_at', value->>'version',
    value->>'landings_returned', value->>'model', value->>'effort', value->>'usage_cached_tokens',
    value->>'usage_reasoning_tokens'
from jsonb_each(?)
