-- Reads a standing rule. No row: it is not there.
select row_to_json(s)::text from standing_rules s where s.id = $1
