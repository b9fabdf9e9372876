-- Lists cards with what a summary needs, the one that changed last first; with false only those that are not over. One row.
select json_build_object(
    'rows', load_rows(array(
        select c.id from cards c where $1 or c.state not in ('landed', 'closed') order by c.updated_at desc, c.id desc), '{}'),
    'last_landings', coalesce((
        select json_agg(w) from (
            select distinct on (l.card_id) l.card_id, l.state
            from landings l join cards c on c.id = l.card_id
            where $1 or c.state not in ('landed', 'closed')
            order by l.card_id, l.accepted_at desc, l.id desc
        ) w), '[]'),
    'codebases', coalesce((select json_agg(b) from codebases b), '[]'))::text
