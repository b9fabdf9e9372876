-- Loads the landings of locked cards that are not over, and the one that was named.
select l.* from landings l
where l.card_id in (select value from json_each(?1))
  and (l.state in ('accepted', 'running') or l.id in (select value from json_each(?2)))
order by l.id
