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
-- A person has said something to an owner at work here since its attempt began.
redirects as (
    select r.id as run, r.epoch, c.id as card, c.codebase_id as codebase,
        (c.not_before is null or c.not_before <= clock.now)
        and c.agent = any ($2::text[])
        and not exists (
            select 1 from parked_routes k
            where k.machine_id = $1 and k.agent = c.agent and (k.until is null or k.until > clock.now))
        and not exists (select 1 from undone_dependencies u where u.card_id = c.id) as is_due
    from clock, runs r join cards c on c.id = r.card_id and c.owner_id = r.id
    where r.machine_id = $1 and r.state = 'running' and c.machine_id = $1 and c.state = 'open'
      and c.id <> all ($4::uuid[])
      and exists (
            select 1 from turns t
            where t.card_id = c.id and t.state = 'pending' and t.author_kind = 'person'
              and t.said_at > coalesce(r.resumed_at, r.started_at))
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
    'next_due', (select min(at) from waits where at > (select now from clock)),
    'redirects', (select coalesce(json_agg(d order by d.run), '[]') from redirects d))::text
