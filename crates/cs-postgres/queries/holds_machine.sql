-- Locks a machine and says which daemon is present under its id, and when it was last seen. No row: nobody ever was.
select m.daemon, m.seen_at, m.present_until > coalesce($2, record_now()) as present from machines m where m.id = $1 for no key update
