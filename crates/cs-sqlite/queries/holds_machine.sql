-- Which daemon is present under a machine's id, and when it was last seen. No row: the machine is free.
select daemon, seen_at from machines where id = ?1 and present_until > ?2
