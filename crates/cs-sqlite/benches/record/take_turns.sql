-- Gives the turns of taken cards to their runs.
update turns set
    state = 'leased',
    run_id = (select c.owner_id from cards c where c.id = turns.card_id)
where card_id in (select value from json_each(?1)) and state = 'pending' and state in ('pending', 'leased')
returning id
