-- Wakes the daemons when this transaction commits. Always one row.
select pg_notify(record_channel(), '')
