-- Lists the runs of a machine that are running or have a process. No row: none.
select r.* from runs r where r.machine_id = ?1 and (r.pid is not null or r.state = 'running') order by r.id
