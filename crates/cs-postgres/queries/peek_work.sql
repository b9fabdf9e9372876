-- Says what a machine could take now, and from when it could take more. Always one row.
with paused as (
    select exists (select 1 from pauses p where p.machine_id is null or p.machine_id = $1) as yes
),
clock as (
    select coalesce($3, record_now()) as now
),
mine as (
    select c.ready_for, c.ready_from from cards c
    where c.ready_for <> 'nothing' and c.state = 'open'
      and (c.machine_id is null or c.machine_id = $1)
      and (c.codebase_id is null or exists (
            select 1 from machine_codebases m where m.machine_id = $1 and m.codebase_id = c.codebase_id))
      and c.agent = any ($2::text[])
      and not (select yes from paused)
)
select json_build_object(
    'turns', exists (select 1 from mine where ready_for = 'turns' and ready_from <= (select now from clock)),
    'rearms', exists (select 1 from mine where ready_for = 'rearm' and ready_from <= (select now from clock)),
    'resumes', exists (select 1 from mine where ready_for = 'resume' and ready_from <= (select now from clock)),
    'landings', exists (
        select 1 from landings l join cards c on c.id = l.card_id
        where l.state = 'accepted' and l.machine_id = $1 and not (select yes from paused)
          and not exists (select 1 from landings r where r.codebase_id = l.codebase_id and r.state = 'running')
          and not exists (
                select 1 from landings e
                where e.codebase_id = l.codebase_id and e.state = 'accepted' and e.machine_id = $1
                  and (e.accepted_at, e.id) < (l.accepted_at, l.id))
          and not exists (select 1 from runs o where o.id = c.owner_id and o.pid is not null)),
    'to_close', exists (
        select 1 from runs r where r.machine_id = $1 and r.pid is not null and r.state <> 'running'),
    'next_due', (select min(ready_from) from mine where ready_from > (select now from clock)))::text
