-- Fences an operation unless it is on the record. Always one row: nothing when it is fenced now, else the stored journal row.
select begin_operation($1, $2, 'cancelled', $3)::text
