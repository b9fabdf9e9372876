-- Reads the id of the named card, or of the first one of all when none is named. Null: there is none.
select min(c.id) from cards c where ?1 is null or c.id = ?1
