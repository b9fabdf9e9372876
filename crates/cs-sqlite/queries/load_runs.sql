-- Loads the runs of locked cards that a decision looks at: the owner's, those that may go on, have a process or were not read
-- back, and those that were named.
select r.* from runs r
where r.id in (
    select o.id from runs o
    where o.card_id in (select value from json_each(?1))
      and (o.state in ('running', 'asked') or o.again_at is not null or o.pid is not null
           or (o.parent_id is not null and o.read_back = 0))
    union
    select c.owner_id from cards c where c.id in (select value from json_each(?1))
    union
    select n.id from runs n
    where n.id in (select value from json_each(?2)) and n.card_id in (select value from json_each(?1)))
order by r.id
