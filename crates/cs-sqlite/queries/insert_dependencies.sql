-- Inserts dependencies from a JSON array; one that is there stays.
insert into card_dependencies (card_id, after_id)
select value->>'card_id', value->>'after_id' from json_each(?)
where true
on conflict do nothing
