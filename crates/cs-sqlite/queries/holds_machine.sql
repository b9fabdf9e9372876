-- Finds another daemon that is present under a machine's id. No row: the machine is free.
select seen_at from machines where id = ?1 and daemon <> ?2 and present_until > ?3
