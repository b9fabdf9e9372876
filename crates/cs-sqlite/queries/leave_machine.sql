-- Ends a daemon's presence. No row changed: another holds the machine, or nobody.
update machines set present_until = ?3 where id = ?1 and daemon = ?2 and present_until > ?3
