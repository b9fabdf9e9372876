-- Inserts runs from a JSON array. As many rows must change as the array has.
insert into runs (
    id, card_id, kind, parent_id, codebase_id, model, effort, state, epoch, token, machine_id, agent, pid, start_ticks,
    boot_id, started_at, resumed_at, ended_at, again_at, failure, failed_because, failures_in_row, tries, starts,
    settled, given, read_back, handed_back_at, fresh, left_behind, left_at, used)
select
    value->>'id', value->>'card_id', value->>'kind', value->>'parent_id', value->>'codebase_id', value->>'model',
    value->>'effort', value->>'state', value->>'epoch', value->>'token', value->>'machine_id', value->>'agent',
    value->>'pid', value->>'start_ticks', value->>'boot_id', value->>'started_at', value->>'resumed_at',
    value->>'ended_at', value->>'again_at', value->>'failure', value->>'failed_because', value->>'failures_in_row',
    value->>'tries', value->>'starts', value->>'settled', value->>'given', value->>'read_back',
    value->>'handed_back_at', value->>'fresh', value->>'left_behind', value->>'left_at', value->>'used'
from jsonb_each(?)
