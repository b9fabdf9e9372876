-- Reads a run and what it is to work on, in one snapshot. No row: the run is not on the record.
select json_build_object(
    'run', row_to_json(r), 'card', row_to_json(c),
    'codebase', (select b.name from codebases b where b.id = c.codebase_id),
    'turns', coalesce((select json_agg(t order by t.seq) from turns t where t.card_id = c.id), '[]'),
    'asks', coalesce((
        select json_agg(a order by a.asked_at, a.id) from asks a where a.card_id = c.id and a.run_id = r.id), '[]'),
    'brief', (select b.body from run_texts b where b.run_id = r.id and b.epoch = 0),
    'children', case when r.kind <> 'worker' then coalesce((
        select json_agg(json_build_object(
            'run', row_to_json(k),
            'brief', (select b.body from run_texts b where b.run_id = k.id and b.epoch = 0),
            'report', (
                select b.body from run_texts b where b.run_id = k.id and b.epoch = k.settled and k.settled <> 0))
            order by k.started_at, k.id)
        from runs k where k.parent_id = r.id), '[]') end,
    'questions', coalesce((
        select json_agg(a order by a.asked_at, a.id) from runs k join asks a on a.run_id = k.id
        where k.parent_id = r.id and a.card_id = c.id and a.state = 'open' and a.addressee = 'parent'
          and a.given = r.epoch), '[]'),
    'rules', coalesce((
        select json_agg(s order by s.codebase_id nulls first, s.created_at, s.id) from standing_rules s
        where s.codebase_id is null or s.codebase_id = r.codebase_id), '[]'),
    'attachments', coalesce((
        select json_agg(h order by h.at, h.name) from attachment_heads h where h.card_id = c.id), '[]'))::text
from runs r join cards c on c.id = r.card_id where r.id = $1
