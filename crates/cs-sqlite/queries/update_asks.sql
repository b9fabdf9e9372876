-- Changes asks from a JSON array of rows before and after. A row whose fence does not hold is left out: as many rows must change as the array has.
update asks set
    addressee = w.value->>'$.now.addressee',
    state = w.value->>'$.now.state',
    answer = w.value->>'$.now.answer',
    answered_by_kind = w.value->>'$.now.answered_by_kind',
    answered_by = w.value->>'$.now.answered_by',
    answered_at = w.value->>'$.now.answered_at',
    delivered = w.value->>'$.now.delivered',
    given = w.value->>'$.now.given'
from jsonb_each(?) as w
where asks.id = w.value->>'$.now.id'
  and asks.state is w.value->>'$.was.state'
  and asks.delivered is w.value->>'$.was.delivered'
