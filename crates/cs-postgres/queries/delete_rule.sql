-- Removes a standing rule. Always one row: how many there were.
with gone as (delete from standing_rules where id = $1 returning 1) select count(*) from gone
