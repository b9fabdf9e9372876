-- Removes a standing rule. No row changed: it was not there.
delete from standing_rules where id = ?1
