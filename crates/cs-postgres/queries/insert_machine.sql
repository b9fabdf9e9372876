-- Makes the row of a machine that never was there, so that it can be locked; it is present for nobody. No row changed: it is there.
insert into machines (id, name, person, boot_id, daemon, seen_at, present_until)
values ($1, '', '', '', repeat('0', 64), 0, 0) on conflict (id) do nothing
