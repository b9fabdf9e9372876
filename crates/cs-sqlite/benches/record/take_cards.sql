-- Takes cards that are ready, by all that limits the machine; everything else follows from what comes back. The sum keeps SQLite
-- from planning anew for each limit.
with room as materialized (
    select
        (select max(p.kind) from pauses p where p.scope in ('everything', 'machine:' || ?2)) as pause,
        (select max(0, l.most - (
            select count(*) from runs r where r.machine_id = ?2 and (r.pid is not null or r.state = 'running')))
         from limits l where l.kind = 'machine' and l.id = ?2) as free,
        (select m.person from machines m where m.id = ?2 and m.serves_everyone = 0) as person
),
codebases_here as materialized (
    select
        m.codebase_id as id,
        (select p.kind from pauses p where p.scope = 'codebase:' || m.codebase_id) as pause,
        (select max(0, l.most - (
            select count(*) from runs r
            where r.codebase_id = m.codebase_id and (r.pid is not null or r.state = 'running')))
         from limits l where l.kind = 'codebase' and l.id = m.codebase_id) as free
    from machine_codebases m where m.machine_id = ?2
)
update cards set
    ready_for = 'nothing',
    ready_from = ?1,
    machine_id = ?2,
    recovery = 0,
    done = 0,
    updated_at = ?1,
    version = version + 1
where id in (
    select c.id from cards c
    where c.ready_for = 'turns' and c.ready_for <> 'nothing' and c.ready_from <= ?1 and c.state = 'open'
      and (c.machine_id is null or c.machine_id = ?2)
      and ((select person is null from room) or c.person = (select person from room))
      and (select pause is null or (pause = 'drain' and c.machine_id is not null) from room)
      and (c.codebase_id is null or exists (
            select 1 from codebases_here b
            where b.id = c.codebase_id and b.free is not 0
              and (b.pause is null or (b.pause = 'drain' and c.machine_id is not null))))
      and c.agent = ?3
      and not exists (
            select 1 from parked_routes k
            where k.machine_id = ?2 and k.agent = c.agent and (k.until is null or k.until > ?1))
      and not exists (
            select 1 from card_dependencies d join cards a on a.id = d.after_id where d.card_id = c.id and a.done = 0)
    order by c.priority desc, c.ready_from, c.id
    limit min(
        ?4 + 0,
        coalesce((select free from room), ?4),
        coalesce((select min(free) from codebases_here where free > 0), ?4)))
returning id, owner_id
