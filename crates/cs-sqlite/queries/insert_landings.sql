-- Inserts landings from a JSON array. As many rows must change as the array has.
insert into landings (
    id, card_id, codebase_id, ask_id, message, state, epoch, token, machine_id, accepted_by, accepted_at,
    commit_id, result, ended_at, base, method, evidence)
select
    value->>'id', value->>'card_id', value->>'codebase_id', value->>'ask_id', value->>'message', value->>'state',
    value->>'epoch', value->>'token', value->>'machine_id', value->>'accepted_by', value->>'accepted_at',
    value->>'commit_id', value->>'result', value->>'ended_at', value->>'base',
    value->>'method', value->>'evidence'
from jsonb_each(?)
