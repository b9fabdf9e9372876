-- Ends what the cards in a JSON array wait for.
delete from card_dependencies where card_id in (select value from json_each(?))
