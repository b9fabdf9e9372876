-- Begins a write on the cards of runs, an ask or a landing. Always one row.
select l.journaled::text, l.now, l.limits::text, l.earlier::text, l.loaded::text from lock_cards_of($1, $2, $3, $4, $5) l
