-- Writes a machine's presence. One row must change.
insert into machines (id, name, person, boot_id, daemon, seen_at, present_until, serves_everyone)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (id) do update set
    name = ?2, person = ?3, boot_id = ?4, daemon = ?5, seen_at = ?6, present_until = ?7, serves_everyone = ?8
