-- Writes a pause, in the place of one with the same scope, and wakes the daemons. Always one row: when.
with written as (
    insert into pauses (scope, machine_id, codebase_id, kind, reason, person, at)
    values ($1, $2, $3, $4, $5, $6, coalesce($7, record_now()))
    on conflict (scope) do update
    set kind = excluded.kind, reason = excluded.reason, person = excluded.person, at = excluded.at
    returning at
)
select w.at from written w, lateral (select pg_notify(record_channel(), '')) n
