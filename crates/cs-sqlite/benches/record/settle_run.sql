-- Ends an attempt: it has asked when a question of it waits, or when an answer came too late for it. No row: it is not the current
-- one.
with asked as materialized (
    select exists (
        select 1 from asks a
        where a.card_id = (select r.card_id from runs r where r.id = ?1) and a.run_id = ?1
          and (a.state in ('open', 'accepted') or (a.state = 'answered' and a.delivered = 0 and a.given is not ?2))
    ) as waits
)
update runs set
    state = case when (select waits from asked) then 'asked' else 'finished' end,
    ended_at = case when (select waits from asked) then null else ?4 end,
    failure = null,
    failed_because = null,
    failures_in_row = 0,
    again_at = null,
    tries = 0,
    starts = 0,
    settled = epoch,
    fresh = 0
where id = ?1 and epoch = ?2 and token = ?3 and state = 'running'
returning card_id, machine_id, agent, coalesce(resumed_at, started_at)
