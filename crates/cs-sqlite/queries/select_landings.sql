-- After parts/take.sql: selects the cards with a landing that a machine is to carry out. No row: nothing to take.
-- The sum keeps SQLite from planning anew for each limit.
select c.* from landable a join cards c on c.id = a.card_id
order by a.accepted_at, a.id
limit ?4 + 0
