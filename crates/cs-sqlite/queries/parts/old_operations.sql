-- The oldest journal rows, at most ?2, that were written before a time (?1) and name no attempt that still counts: one that is
-- the last of its run or landing and did not end before that time. Both uses begin with this one text.
with old as materialized (
    select j.operation_id from journal j
    where j.at < ?1
      and not exists (
            select 1 from json_each(j.result, '$.runs') x join runs r on r.id = x.value->>'run'
            where r.epoch <= x.value->>'epoch'
              and (r.pid is not null or r.ended_at is null or r.ended_at >= ?1))
      and not exists (
            select 1 from json_each(j.result, '$.landings') x join landings l on l.id = x.value->>'landing'
            where l.epoch <= x.value->>'epoch' and (l.ended_at is null or l.ended_at >= ?1))
    order by j.at, j.operation_id
    limit ?2
)
