-- After parts/take.sql: selects the cards that a person wants tried although their route is parked. No row: nothing to take.
-- The sum keeps SQLite from planning anew for each limit.
select o.* from offered o
where o.recovery = 1 and o.ready_from <= ?3
order by o.priority desc, o.ready_from, o.id
limit ?4 + 0
