-- Lists the standing rules: those for all, then those of codebases, each as they were made. No row: none.
select id, codebase_id, body, version, person, created_at, updated_at from standing_rules
order by codebase_id, created_at, id
