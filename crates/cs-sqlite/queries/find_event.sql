-- Finds the place of an event by its number. No row: there is no such event.
select e.number, e.at from events e where e.number = ?1
