-- Says that a machine has no other codebases than these.
delete from machine_codebases m where m.machine_id = $1 and m.codebase_id <> all ($2::uuid[])
