-- Says in the journal what an operation did that began with its lock.
update journal o set kind = $2, result = $3 where o.operation_id = $1 and o.kind = 'begun'
