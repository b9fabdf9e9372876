-- Writes a pause, in the place of one with the same scope. One row must change.
insert into pauses (scope, machine_id, reason, person, at) values (?1, ?2, ?3, ?4, ?5)
on conflict (scope) do update set reason = ?3, person = ?4, at = ?5
