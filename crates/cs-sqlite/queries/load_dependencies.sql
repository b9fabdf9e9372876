-- Loads the cards that others wait for and that are not done.
select d.card_id, d.after_id from card_dependencies d join cards c on c.id = d.after_id
where d.card_id in (select value from json_each(?1)) and c.done = 0
order by d.card_id, d.after_id
