-- Reads a landing. No row: it is not on the record.
select l.* from landings l where l.id = ?1
