-- Selects cards by id. No row: none of them is there.
select c.* from cards c where c.id in (select value from json_each(?1)) order by c.id
