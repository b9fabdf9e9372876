-- Lists the oldest journal rows that nobody can need any more, and removes them unless the second parameter says not to: older
-- than the first, in microseconds, and every attempt that they name ended longer ago or was followed by another. Always one row.
with clock as (
    select coalesce($4, record_now()) - $1 as before
),
old as (
    select j.operation_id, j.machine_id, j.kind, j.at
    from clock, journal j
    where j.at < clock.before
      and not exists (
            select 1 from json_array_elements(j.result::json -> 'runs') n join runs r on r.id = (n ->> 'run')::uuid
            where r.epoch <= (n ->> 'epoch')::bigint
              and (r.ended_at is null or r.ended_at >= clock.before or r.pid is not null))
      and not exists (
            select 1 from json_array_elements(j.result::json -> 'landings') n
            join landings l on l.id = (n ->> 'landing')::uuid
            where l.epoch <= (n ->> 'epoch')::bigint and (l.ended_at is null or l.ended_at >= clock.before))
    order by j.at, j.operation_id
    limit $3
    for update of j skip locked
),
gone as (
    delete from journal j using old o where j.operation_id = o.operation_id and not $2
    returning j.operation_id
)
select coalesce(json_agg(o order by o.at, o.operation_id), '[]')::text from old o
where $2 or o.operation_id in (select g.operation_id from gone g)
