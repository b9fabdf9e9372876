-- Finds asks by the last digits of their id, or by the first of its last eight, which are those that are shown; at most 10. Always one
-- row.
select coalesce(json_agg(f.id order by f.id), '[]')::text
from (
    select a.id from asks a
    where replace(a.id::text, '-', '') like '%' || $1 or right(a.id::text, 8) like $1 || '%'
    order by a.id limit 10) f
