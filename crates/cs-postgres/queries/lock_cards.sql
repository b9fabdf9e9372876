-- Begins a write on cards that are named. Always one row.
select l.journaled::text, l.now, l.limits::text, l.earlier::text, l.loaded::text from lock_cards($1, $2, $3, $4, $5) l
