-- Changes cards from a JSON array of rows before and after. A row whose fence does not hold is left out: as many rows must change as the array has.
update cards set
    state = w.value->>'$.now.state',
    reason = w.value->>'$.now.reason',
    codebase_id = w.value->>'$.now.codebase_id',
    agent = w.value->>'$.now.agent',
    owner_id = w.value->>'$.now.owner_id',
    machine_id = w.value->>'$.now.machine_id',
    opening = w.value->>'$.now.opening',
    priority = w.value->>'$.now.priority',
    not_before = w.value->>'$.now.not_before',
    recovery = w.value->>'$.now.recovery',
    done = w.value->>'$.now.done',
    last_seq = w.value->>'$.now.last_seq',
    ready_for = w.value->>'$.now.ready_for',
    ready_from = w.value->>'$.now.ready_from',
    usage_turns = w.value->>'$.now.usage_turns',
    usage_input_tokens = w.value->>'$.now.usage_input_tokens',
    usage_output_tokens = w.value->>'$.now.usage_output_tokens',
    usage_cost_microusd = w.value->>'$.now.usage_cost_microusd',
    updated_at = w.value->>'$.now.updated_at',
    version = w.value->>'$.now.version',
    landings_returned = w.value->>'$.now.landings_returned',
    model = w.value->>'$.now.model',
    effort = w.value->>'$.now.effort',
    usage_cached_tokens = w.value->>'$.now.usage_cached_tokens',
    usage_reasoning_tokens = w.value->>'$.now.usage_reasoning_tokens'
from jsonb_each(?) as w
where cards.id = w.value->>'$.now.id'
  and cards.version is w.value->>'$.was.version'
