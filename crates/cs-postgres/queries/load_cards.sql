-- Loads cards with what a take looks at, without a lock; one that is gone is left out. Always one row.
select load_rows($1::uuid[], '{}')::text
