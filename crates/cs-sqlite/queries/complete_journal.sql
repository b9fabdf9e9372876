-- Writes what an operation did, in the transaction that began it. Exactly one row must change.
update journal set kind = ?, result = ? where operation_id = ? and kind = 'begun'
