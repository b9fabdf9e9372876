-- Says whether a pause covers a machine. Always one row.
select exists (select 1 from pauses where machine_id is null or machine_id = ?1)
