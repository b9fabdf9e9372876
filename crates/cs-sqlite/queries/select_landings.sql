-- Selects the cards with a landing that a machine is to carry out: the first accepted of each codebase that has none running,
-- once the card's agent is proven gone. No row: nothing to take.
select c.* from landings l join cards c on c.id = l.card_id
where l.state = 'accepted' and l.machine_id = ?1
  and not exists (select 1 from landings r where r.codebase_id = l.codebase_id and r.state = 'running')
  and not exists (
        select 1 from landings e
        where e.codebase_id = l.codebase_id and e.state = 'accepted' and e.machine_id = ?1
          and (e.accepted_at, e.id) < (l.accepted_at, l.id))
  and not exists (select 1 from runs o where o.id = c.owner_id and o.pid is not null)
  and not exists (select 1 from pauses p where p.machine_id is null or p.machine_id = ?1)
order by l.accepted_at, l.id
limit ?2
