-- Takes a limit away. No row changed: there was none.
delete from limits where kind = ?1 and id = ?2
