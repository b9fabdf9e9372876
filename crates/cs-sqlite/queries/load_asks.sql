-- Loads the asks of locked cards that are not done with, and the one that was named.
select a.* from asks a
where a.card_id in (select value from json_each(?1))
  and (a.state in ('open', 'accepted') or (a.state = 'answered' and a.delivered = 0)
       or a.id in (select value from json_each(?2)))
order by a.id
