-- Lists the codebases that a machine has. No row: none.
select codebase_id from machine_codebases where machine_id = ?1
