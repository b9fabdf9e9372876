-- Finds the codebase with an id or a name, the one with the id first. No row: both are free.
select row_to_json(b)::text from codebases b where b.id = $1 or b.name = $2 order by b.id <> $1 limit 1
