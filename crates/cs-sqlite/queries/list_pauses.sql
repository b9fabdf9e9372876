-- Lists the pauses that cover a machine, everything first. No row: none.
select machine_id, reason, person, at from pauses where machine_id is null or machine_id = ?1
order by machine_id is not null
