-- Writes how many runs may be live, in the place of such a row of the same thing, and wakes the daemons. Always one row.
with written as (
    insert into limits (kind, id, most, person, at) values ($1, $2, $3, $4, coalesce($5, record_now()))
    on conflict (kind, id) do update set most = excluded.most, person = excluded.person, at = excluded.at
    returning 1
)
select (select count(*) from written) as written from (select pg_notify(record_channel(), '')) n
