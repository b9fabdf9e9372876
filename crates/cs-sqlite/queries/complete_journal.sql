-- Writes what an operation did, in the transaction that began it. Exactly one row must change.
update journal set kind = ?2, result = ?3 where operation_id = ?1 and kind = 'begun'
