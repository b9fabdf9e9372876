-- Reads a card with its runs, asks and landings, oldest first, in one snapshot. No row: it is not on the record.
select json_build_object(
    'card', row_to_json(c),
    'codebase', (select b.name from codebases b where b.id = c.codebase_id),
    'runs', coalesce((select json_agg(r order by r.started_at, r.id) from runs r where r.card_id = c.id), '[]'),
    'asks', coalesce((select json_agg(a order by a.asked_at, a.id) from asks a where a.card_id = c.id), '[]'),
    'landings', coalesce((select json_agg(l order by l.accepted_at, l.id) from landings l where l.card_id = c.id), '[]'),
    'waits_for', coalesce((
        select json_agg(u.after_id order by u.after_id) from undone_dependencies u where u.card_id = c.id), '[]'))::text
from cards c where c.id = $1
