-- Finds the codebase with an id or a name, the one with the id first. No row: both are free.
select id, name, created_at from codebases where id = ?1 or name = ?2 order by id <> ?1
