-- Writes a standing rule unless it is there. Always one row: how many were written.
with written as (
    insert into standing_rules (id, codebase_id, body, version, person, created_at, updated_at)
    values ($1, $2, $3, 1, $4, coalesce($5, record_now()), coalesce($5, record_now()))
    on conflict (id) do nothing returning 1
)
select count(*) from written
