-- Lists the runs of a machine that are running or have a process. Always one row.
select coalesce(json_agg(r order by r.id), '[]')::text from runs r
where r.machine_id = $1 and (r.pid is not null or r.state = 'running')
