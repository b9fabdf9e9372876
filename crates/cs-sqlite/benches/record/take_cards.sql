-- Takes cards that are ready; everything else follows from what comes back.
update cards set
    ready_for = 'nothing',
    machine_id = ?2,
    starts = starts + 1,
    updated_at = ?1,
    version = version + 1
where id in (
    select c.id from cards c
    where c.ready_for = 'turns' and c.ready_for <> 'nothing' and c.ready_from <= ?1 and c.state = 'open'
      and (c.machine_id is null or c.machine_id = ?2)
      and (c.codebase_id is null or exists (
            select 1 from machine_codebases m where m.machine_id = ?2 and m.codebase_id = c.codebase_id))
      and c.agent = ?3
      and not exists (select 1 from pauses p where p.machine_id is null or p.machine_id = ?2)
    order by c.ready_from, c.id
    limit ?4)
returning id, owner_id
