-- Reads a run and what it is to work on, in one snapshot. No row: the run is not on the record.
select json_build_object(
    'run', row_to_json(r), 'card', row_to_json(c),
    'codebase', (select b.name from codebases b where b.id = c.codebase_id),
    'turns', coalesce((select json_agg(t order by t.seq) from turns t where t.card_id = c.id), '[]'),
    'asks', coalesce((
        select json_agg(a order by a.asked_at, a.id) from asks a where a.card_id = c.id and a.run_id = r.id), '[]'))::text
from runs r join cards c on c.id = r.card_id where r.id = $1
