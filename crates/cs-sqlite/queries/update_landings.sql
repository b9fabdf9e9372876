-- Changes landings from a JSON array of rows before and after. A row whose fence does not hold is left out: as many rows must change as the array has.
update landings set
    state = w.value->>'$.now.state',
    epoch = w.value->>'$.now.epoch',
    token = w.value->>'$.now.token',
    commit_id = w.value->>'$.now.commit_id',
    result = w.value->>'$.now.result',
    ended_at = w.value->>'$.now.ended_at',
    evidence = w.value->>'$.now.evidence'
from jsonb_each(?) as w
where landings.id = w.value->>'$.now.id'
  and landings.epoch is w.value->>'$.was.epoch'
  and landings.token is w.value->>'$.was.token'
  and landings.state is w.value->>'$.was.state'
