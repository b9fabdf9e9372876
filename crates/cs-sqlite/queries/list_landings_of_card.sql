-- Lists the landings of a card, oldest first. No row: none was accepted.
select l.* from landings l where l.card_id = ?1 order by l.accepted_at, l.id
