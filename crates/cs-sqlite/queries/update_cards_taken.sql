-- Changes of cards what a take changes, from a JSON array. A row whose fence does not hold is left out: as many rows must change
-- as the array has.
update cards set
    machine_id = w.value->>'machine_id',
    recovery = w.value->>'recovery',
    done = w.value->>'done',
    ready_for = w.value->>'ready_for',
    ready_from = w.value->>'ready_from',
    updated_at = w.value->>'updated_at',
    version = w.value->>'version'
from jsonb_each(?) as w
where cards.id = w.value->>'id'
  and cards.version is w.value->>'was_version'
