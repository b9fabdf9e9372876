-- Registers a codebase. One row must change.
insert into codebases (id, name, created_at) values (?1, ?2, ?3)
