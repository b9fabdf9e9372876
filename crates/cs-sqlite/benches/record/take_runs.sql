-- Begins the next attempt of the runs of taken cards.
update runs set
    epoch = epoch + 1,
    token = lower(hex(randomblob(32))),
    state = 'running',
    machine_id = ?2,
    agent = ?4,
    resumed_at = ?1,
    ended_at = null,
    again_at = null,
    starts = starts + 1,
    given = null,
    read_back = 0
where id in (select value from json_each(?3))
returning id, epoch, token, card_id, codebase_id, started_at, fresh
