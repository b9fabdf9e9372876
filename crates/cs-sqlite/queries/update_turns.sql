-- Changes turns from a JSON array of rows before and after. A row whose fence does not hold is left out: as many rows must change as the array has.
update turns set
    state = w.value->>'$.now.state',
    run_id = w.value->>'$.now.run_id'
from jsonb_each(?) as w
where turns.id = w.value->>'$.now.id'
  and turns.state is w.value->>'$.was.state'
  and turns.run_id is w.value->>'$.was.run_id'
