-- Begins a take of cards that are ready. Always one row.
select l.journaled::text, l.now, l.limits::text, l.earlier::text, l.loaded::text from lock_ready($1, $2, $3, $4, $5, $6) l
