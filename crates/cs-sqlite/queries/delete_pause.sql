-- Ends a pause. No row changed: there was none.
delete from pauses where scope = ?1
