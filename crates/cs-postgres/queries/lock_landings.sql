-- Begins a take of landings. Always one row.
select l.journaled::text, l.now, l.limits::text, l.earlier::text, l.loaded::text from lock_landings($1, $2, $3, $4) l
