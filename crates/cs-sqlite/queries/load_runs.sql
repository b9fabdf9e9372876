-- Loads the runs of locked cards that a decision looks at: the owner's, live ones, and those that were named.
select r.* from runs r join cards c on c.id = r.card_id
where r.card_id in (select value from json_each(?1))
  and (r.id = c.owner_id or r.state in ('running', 'asked') or r.id in (select value from json_each(?2)))
order by r.id
