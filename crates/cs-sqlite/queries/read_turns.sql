-- Reads turns of a card after a place, in order. No row: there are none.
-- The sum keeps SQLite from planning anew for each limit.
select t.* from turns t where t.card_id = ?1 and t.seq > ?2 order by t.seq limit ?3 + 0
