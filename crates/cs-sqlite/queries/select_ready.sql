-- Selects the cards that are ready for a kind of work and that a machine may have. No row: nothing to take.
select c.* from cards c
where c.ready_for = ?1 and c.ready_for <> 'nothing' and c.ready_from <= ?2 and c.state = 'open'
  and (c.machine_id is null or c.machine_id = ?3)
  and (c.codebase_id is null or exists (
        select 1 from machine_codebases m where m.machine_id = ?3 and m.codebase_id = c.codebase_id))
  and c.agent in (select value from json_each(?4))
  and not exists (select 1 from pauses p where p.machine_id is null or p.machine_id = ?3)
order by c.ready_from, c.id
limit ?5
