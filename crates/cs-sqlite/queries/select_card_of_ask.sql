-- Selects the card of an ask. No row: there is no such ask.
select c.* from cards c where c.id = (select a.card_id from asks a where a.id = ?1)
