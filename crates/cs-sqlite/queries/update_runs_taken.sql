-- Changes of runs what their next attempt changes, from a JSON array. A row whose fence does not hold is left out: as many rows
-- must change as the array has.
update runs set
    state = w.value->>'state',
    epoch = w.value->>'epoch',
    token = w.value->>'token',
    machine_id = w.value->>'machine_id',
    resumed_at = w.value->>'resumed_at',
    ended_at = w.value->>'ended_at',
    again_at = w.value->>'again_at',
    starts = w.value->>'starts'
from jsonb_each(?) as w
where runs.id = w.value->>'id'
  and runs.epoch is w.value->>'was_epoch'
  and runs.token is w.value->>'was_token'
  and runs.state is w.value->>'was_state'
