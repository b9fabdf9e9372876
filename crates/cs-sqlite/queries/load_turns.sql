-- Loads the turns of locked cards that nobody has answered, and the one that was named, without their words.
select t.id, t.card_id, t.seq, t.state, t.run_id, t.said_at from turns t
where t.card_id in (select value from json_each(?1)) and t.state in ('pending', 'leased')
union
select t.id, t.card_id, t.seq, t.state, t.run_id, t.said_at from turns t
where t.id in (select value from json_each(?2)) and t.card_id in (select value from json_each(?1))
order by seq
