-- Settles the turns that an attempt held.
update turns set state = 'settled'
where card_id = ?1 and run_id = ?2 and state = 'leased' and state in ('pending', 'leased')
