-- Begins a start of one run, or of one that it sends. Always one row.
select l.journaled::text, l.now, l.limits::text, l.earlier::text, l.loaded::text from lock_start($1, $2, $3, $4) l
