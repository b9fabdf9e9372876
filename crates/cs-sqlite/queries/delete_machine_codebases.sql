-- Says that a machine has no other codebases than these.
delete from machine_codebases where machine_id = ?1 and codebase_id not in (select value from json_each(?2))
