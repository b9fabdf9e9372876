-- Writes a standing rule. No row changed: it is there.
insert into standing_rules (id, codebase_id, body, version, person, created_at, updated_at) values (?1, ?2, ?3, 1, ?4, ?5, ?5)
on conflict (id) do nothing
