-- Loads the runs of locked cards that a decision looks at: the owner's, those that may go on, have a process or were not read
-- back, and those that were named.
select r.* from runs r
where r.card_id in (select value from json_each(?1))
  and (r.state in ('running', 'asked') or r.again_at is not null or r.pid is not null
       or (r.parent_id is not null and r.read_back = 0))
union
select r.* from cards c join runs r on r.id = c.owner_id where c.id in (select value from json_each(?1))
union
select r.* from runs r
where r.id in (select value from json_each(?2)) and r.card_id in (select value from json_each(?1))
order by id
