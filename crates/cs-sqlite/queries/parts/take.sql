-- What a machine (?1) with its agents (?2, a JSON array) may take now (?3). Takes and peeks begin with this one text, so that a
-- peek names what a take finds. `pause` is the strictest one and comes last in the alphabet; `free` is null without a limit.
with here as (
    select
        (select max(p.kind) from pauses p where p.scope in ('everything', 'machine:' || ?1)) as pause,
        (select max(0, l.most - (
            select count(*) from runs r where r.machine_id = ?1 and (r.pid is not null or r.state = 'running')))
         from limits l where l.kind = 'machine' and l.id = ?1) as free,
        (select s.person from machines s where s.id = ?1 and s.serves_everyone = 0) as only_person
),
there as (
    select
        m.codebase_id,
        (select p.kind from pauses p where p.scope = 'codebase:' || m.codebase_id) as pause,
        (select max(0, l.most - (
            select count(*) from runs r
            where r.codebase_id = m.codebase_id and (r.pid is not null or r.state = 'running')))
         from limits l where l.kind = 'codebase' and l.id = m.codebase_id) as free
    from machine_codebases m where m.machine_id = ?1
),
parked as (
    select k.agent from parked_routes k where k.machine_id = ?1 and (k.until is null or k.until > ?3)
),
-- Cards that are ready for anything now or later. A drain lets through what a machine has begun.
offered as not materialized (
    select c.*, c.agent in (select agent from parked) as is_parked
    from cards c
    where c.ready_for <> 'nothing' and c.state = 'open'
      and (select (pause is null or pause = 'drain') and free is not 0 from here)
      and ((select pause is null from here) or c.machine_id is not null)
      and (c.machine_id is null or c.machine_id = ?1)
      and ((select only_person is null from here) or c.person = (select only_person from here))
      and c.agent in (select value from json_each(?2))
      and (c.codebase_id is null
           or c.codebase_id in (select codebase_id from there where pause is null and free is not 0)
           or (c.machine_id is not null and c.codebase_id in (
                select codebase_id from there where pause = 'drain' and free is not 0)))
      and not exists (
            select 1 from card_dependencies d join cards e on e.id = d.after_id where d.card_id = c.id and e.done = 0)
),
-- The first accepted landing of each base of a codebase that has none running, once every agent of its card is proven gone.
landable as not materialized (
    select l.*
    from landings l
    where l.state = 'accepted' and l.machine_id = ?1
      and (select pause is null or pause = 'drain' from here)
      and not exists (select 1 from pauses p where p.scope = 'codebase:' || l.codebase_id and p.kind = 'pause')
      and not exists (
            select 1 from landings r
            where r.codebase_id = l.codebase_id and r.base is l.base and r.state = 'running')
      and not exists (
            select 1 from landings e
            where e.codebase_id = l.codebase_id and e.base is l.base and e.state = 'accepted' and e.machine_id = ?1
              and (e.accepted_at, e.id) < (l.accepted_at, l.id))
      and not exists (select 1 from runs o where o.card_id = l.card_id and o.pid is not null)
)
