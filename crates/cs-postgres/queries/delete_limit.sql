-- Takes a limit away and wakes the daemons. Always one row: how many there were.
with gone as (delete from limits where kind = $1 and id = $2 returning 1)
select (select count(*) from gone) as gone from (select pg_notify(record_channel(), '')) n
