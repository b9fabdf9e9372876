-- After parts/take.sql: selects the cards that are ready for a kind of work and whose route is not parked. No row: nothing to take.
-- The sum keeps SQLite from planning anew for each limit.
select o.* from offered o
where o.ready_for = ?4 and o.ready_from <= ?3 and not o.is_parked
order by o.priority desc, o.ready_from, o.id
limit ?5 + 0
