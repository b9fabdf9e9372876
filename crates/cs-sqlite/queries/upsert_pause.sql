-- Writes a pause, in the place of one with the same scope. One row must change.
insert into pauses (scope, kind, machine_id, codebase_id, reason, person, at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (scope) do update set kind = ?2, reason = ?5, person = ?6, at = ?7
