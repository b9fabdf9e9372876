-- Lists the parked routes of a machine, by agent. Always one row.
select coalesce(json_agg(k order by k.agent), '[]')::text from parked_routes k where k.machine_id = $1
