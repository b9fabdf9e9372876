-- Lists the pauses that cover a machine or a codebase that it has: everything first, then the machine. Always one row.
select coalesce(json_agg(p order by p.scope <> 'everything', p.machine_id, p.codebase_id), '[]')::text
from pauses p
where p.scope = 'everything' or p.machine_id = $1
   or p.codebase_id in (select m.codebase_id from machine_codebases m where m.machine_id = $1)
