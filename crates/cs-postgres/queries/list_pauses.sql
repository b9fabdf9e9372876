-- Lists the pauses that cover a machine, everything first. Always one row.
select coalesce(json_agg(p order by p.machine_id is not null), '[]')::text
from pauses p where p.machine_id is null or p.machine_id = $1
