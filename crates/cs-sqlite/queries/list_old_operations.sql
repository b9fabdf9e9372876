-- After parts/old_operations.sql: lists them in no order. No row: nothing is that old.
select n.operation_id, n.machine_id, n.kind, n.at from journal n where n.operation_id in (select operation_id from old)
