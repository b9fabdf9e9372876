-- Writes a limit, in the place of one with the same scope. One row must change.
insert into limits (kind, id, most, person, at) values (?1, ?2, ?3, ?4, ?5)
on conflict (kind, id) do update set most = ?3, person = ?4, at = ?5
