-- Begins a write on a card that may be new and may wait for others. Always one row.
select l.journaled::text, l.now, l.limits::text, l.earlier::text, l.loaded::text from lock_send($1, $2, $3, $4, $5, $6) l
