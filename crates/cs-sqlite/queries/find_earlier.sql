-- Finds the cards that are to be done before a card, and says of each whether it waits for that card. No row: none is there.
with recursive waiting (id) as (
    select ?1
    union
    select d.card_id from waiting join card_dependencies d on d.after_id = waiting.id
)
select c.id, c.id in (select id from waiting) as waits_for_it
from cards c where c.id in (select value from json_each(?2)) order by c.id
