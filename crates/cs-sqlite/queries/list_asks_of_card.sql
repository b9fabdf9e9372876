-- Lists the asks of a card, oldest first. No row: nothing was asked.
select a.* from asks a where a.card_id = ?1 order by a.asked_at, a.id
