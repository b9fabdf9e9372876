-- Registers a codebase. Always one row: it.
insert into codebases as b (id, name, created_at) values ($1, $2, coalesce($3, record_now())) returning row_to_json(b)::text
