-- Lists open asks to people with the titles of their cards, oldest first. No row: there are none.
select a.*, c.title as card_title from asks a join cards c on c.id = a.card_id
where a.state = 'open' and a.addressee = 'person' order by a.asked_at, a.id
