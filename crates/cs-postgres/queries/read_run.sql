-- Reads a run. No row: it is not on the record.
select row_to_json(r)::text from runs r where r.id = $1
