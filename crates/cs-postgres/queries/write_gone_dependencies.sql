-- Lets cards wait for no other any more.
delete from card_dependencies d where d.card_id = any ($1)
