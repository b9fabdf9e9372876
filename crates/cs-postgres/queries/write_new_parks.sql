-- Parks routes, in the place of earlier parks of the same routes.
insert into parked_routes (
    machine_id, agent, class, reason, since, until)
select * from unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) as w
on conflict (machine_id, agent) do update
set class = excluded.class, reason = excluded.reason, since = excluded.since, until = excluded.until
