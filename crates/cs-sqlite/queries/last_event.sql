-- Finds the place of the last event. No row: there are none.
select e.number, e.at from events e where e.number = (select max(l.number) from events l)
