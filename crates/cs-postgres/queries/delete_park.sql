-- Ends the park of a route and wakes the daemons. Always one row: how many there were.
with gone as (delete from parked_routes where machine_id = $1 and agent = $2 returning 1)
select (select count(*) from gone) as gone from (select pg_notify(record_channel(), '')) n
