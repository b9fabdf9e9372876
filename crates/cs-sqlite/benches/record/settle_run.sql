-- Ends an attempt. No row: it is not the current one.
update runs set
    state = 'finished',
    ended_at = ?4,
    failure = null,
    failed_because = null,
    failures_in_row = 0,
    again_at = null,
    tries = 0,
    starts = 0,
    settled = epoch
where id = ?1 and epoch = ?2 and token = ?3 and state = 'running'
returning card_id
