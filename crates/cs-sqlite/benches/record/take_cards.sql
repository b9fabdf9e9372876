-- Takes cards that are ready; everything else follows from what comes back. The sum keeps SQLite from planning
-- anew for each limit.
update cards set
    ready_for = 'nothing',
    machine_id = ?2,
    recovery = 0,
    updated_at = ?1,
    version = version + 1
where id in (
    select c.id from cards c
    where c.ready_for = 'turns' and c.ready_for <> 'nothing' and c.ready_from <= ?1 and c.state = 'open'
      and (c.machine_id is null or c.machine_id = ?2)
      and (c.codebase_id is null or exists (
            select 1 from machine_codebases m where m.machine_id = ?2 and m.codebase_id = c.codebase_id))
      and c.agent = ?3
      and not exists (
            select 1 from pauses p where p.scope = 'everything' or p.machine_id = ?2 or p.codebase_id = c.codebase_id)
      and not exists (
            select 1 from parked_routes k
            where k.machine_id = ?2 and k.agent = c.agent and (k.until is null or k.until > ?1))
      and not exists (
            select 1 from card_dependencies d join cards a on a.id = d.after_id where d.card_id = c.id and a.done = 0)
    order by c.priority desc, c.ready_from, c.id
    limit ?4 + 0)
returning id, owner_id
