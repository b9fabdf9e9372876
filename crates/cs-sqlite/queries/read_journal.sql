-- Reads what became of an operation. No row: it never came.
select operation_id, machine_id, kind, result from journal where operation_id = ?1
