-- Ends a pause and wakes the daemons. Always one row: how many there were.
with gone as (delete from pauses where scope = $1 returning 1)
select (select count(*) from gone) as gone from (select pg_notify(record_channel(), '')) n
