-- After parts/take.sql: says what a machine could take now, but for the cards in ?4 (a JSON array), and from when it could take
-- more. Always one row.
, mine as not materialized (
    select o.* from offered o where o.id not in (select value from json_each(?4))
)
select
    exists (select 1 from mine o where o.ready_for = 'turns' and o.ready_from <= ?3 and not o.is_parked) as turns,
    exists (select 1 from mine o where o.ready_for = 'rearm' and o.ready_from <= ?3 and not o.is_parked) as rearms,
    exists (select 1 from mine o where o.ready_for = 'resume' and o.ready_from <= ?3 and not o.is_parked) as resumes,
    exists (select 1 from mine o where o.recovery = 1 and o.ready_from <= ?3) as recovery,
    exists (select 1 from landable l where l.card_id not in (select value from json_each(?4))) as landings,
    exists (
        select 1 from runs r where r.machine_id = ?1 and r.pid is not null and r.state <> 'running'
    ) as to_close,
    (select min(due.at) from (
        select min(o.ready_from) as at from mine o where o.ready_from > ?3
        union all
        select min(k.until) from parked_routes k where k.machine_id = ?1 and k.until > ?3
    ) due) as next_due,
    -- A person has said something to an owner at work here since its attempt began.
    (select json_group_array(json_object(
        'run', r.id, 'epoch', r.epoch, 'card', c.id, 'codebase', c.codebase_id,
        'is_due', json(case when
            (c.not_before is null or c.not_before <= ?3)
            and c.agent in (select value from json_each(?2))
            and c.agent not in (select agent from parked)
            and not exists (
                select 1 from card_dependencies d join cards e on e.id = d.after_id where d.card_id = c.id and e.done = 0)
            then 'true' else 'false' end)))
     from runs r cross join cards c on c.id = r.card_id and c.owner_id = r.id
     where r.machine_id = ?1 and r.state = 'running' and c.machine_id = ?1 and c.state = 'open'
       and c.id not in (select value from json_each(?4))
       and exists (
            select 1 from turns t
            where t.card_id = c.id and t.state = 'pending' and t.author_kind = 'person'
              and t.said_at > coalesce(r.resumed_at, r.started_at))
    ) as redirects
