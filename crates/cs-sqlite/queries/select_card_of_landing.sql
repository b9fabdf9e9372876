-- Selects the card of a landing. No row: there is no such landing.
select c.* from cards c where c.id = (select l.card_id from landings l where l.id = ?1)
