-- Says what a machine could take now, but for the cards in $4, and from when it could take more. Always one row.
with clock as (
    select coalesce($3, record_now()) as now
),
mine as (
    select c.ready_for, c.ready_from, c.recovery, c.agent = any (r.parked) as is_parked
    from
        clock,
        lateral room_of($1, array(select m.codebase_id from machine_codebases m where m.machine_id = $1), clock.now) r,
        cards c
    where is_offered(c, $1, $2::text[], r) and not exists (select 1 from undone_dependencies u where u.card_id = c.id)
      and c.id <> all ($4::uuid[])
),
due as (
    select * from mine where ready_from <= (select now from clock)
),
waits as (
    select ready_from as at from mine
    union all
    select k.until from parked_routes k where k.machine_id = $1
)
select json_build_object(
    'turns', exists (select 1 from due where ready_for = 'turns' and not is_parked),
    'rearms', exists (select 1 from due where ready_for = 'rearm' and not is_parked),
    'resumes', exists (select 1 from due where ready_for = 'resume' and not is_parked),
    'recovery', exists (select 1 from due where recovery),
    'landings', exists (select 1 from takeable_landings l where l.machine_id = $1 and l.card_id <> all ($4::uuid[])),
    'to_close', exists (
        select 1 from runs r where r.machine_id = $1 and r.pid is not null and r.state <> 'running'),
    'next_due', (select min(at) from waits where at > (select now from clock)))::text
