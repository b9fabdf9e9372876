-- Reads a standing rule. No row: it is not there.
select id, codebase_id, body, version, person, created_at, updated_at from standing_rules where id = ?1
