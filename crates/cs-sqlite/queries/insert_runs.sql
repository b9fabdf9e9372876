-- Inserts runs from a JSON array. As many rows must change as the array has.
insert into runs (
    id, card_id, kind, state, epoch, token, machine_id, agent, pid, start_ticks, boot_id, started_at, resumed_at,
    ended_at, again_at, failure, failed_because, failures_in_row)
select
    value->>'id', value->>'card_id', value->>'kind', value->>'state', value->>'epoch', value->>'token',
    value->>'machine_id', value->>'agent', value->>'pid', value->>'start_ticks', value->>'boot_id',
    value->>'started_at', value->>'resumed_at', value->>'ended_at', value->>'again_at', value->>'failure',
    value->>'failed_because', value->>'failures_in_row'
from jsonb_each(?1)
