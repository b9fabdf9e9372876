-- Writes other words for a standing rule. Always one row: how many were written; none is not there, or has them.
with written as (
    update standing_rules set body = $2, version = version + 1, person = $3, updated_at = coalesce($4, record_now())
    where id = $1 and body <> $2 returning 1
)
select count(*) from written
