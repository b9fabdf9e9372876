-- Lists the pauses that cover a machine or a codebase that it has: everything, the machine, then codebases. No row: none.
select kind, machine_id, codebase_id, reason, person, at from pauses
where scope in ('everything', 'machine:' || ?1)
   or codebase_id in (select m.codebase_id from machine_codebases m where m.machine_id = ?1)
order by codebase_id is not null, machine_id is not null, codebase_id
