-- Inserts events from a JSON array, in its order. As many rows must change as the array has.
insert into events (card_id, run_id, epoch, machine_id, at, kind, details)
select
    value->>'card_id', value->>'run_id', value->>'epoch', value->>'machine_id', value->>'at', value->>'kind',
    value->>'details'
from jsonb_each(?)
order by key
