-- Writes other words for a standing rule. No row changed: it is not there, or has them.
update standing_rules set body = ?2, version = version + 1, person = ?3, updated_at = ?4 where id = ?1 and body <> ?2
