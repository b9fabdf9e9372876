-- After parts/old_operations.sql: removes them and returns them in no order. No row: nothing is that old.
delete from journal where operation_id in (select operation_id from old)
returning operation_id, machine_id, kind, at
