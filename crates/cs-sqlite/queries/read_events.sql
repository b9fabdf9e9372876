-- Reads events after a number, in order. No row: there are none.
-- The sum keeps SQLite from planning anew for each limit.
select e.* from events e where e.number > ?1 order by e.number limit ?2 + 0
