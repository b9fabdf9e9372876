-- Reads a run. No row: it is not on the record.
select r.* from runs r where r.id = ?1
