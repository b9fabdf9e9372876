-- Selects the cards of runs. No row: none of the runs is there.
select c.* from cards c
where c.id in (select r.card_id from runs r where r.id in (select value from json_each(?1))) order by c.id
