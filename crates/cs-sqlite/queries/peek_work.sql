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
    ) due) as next_due
