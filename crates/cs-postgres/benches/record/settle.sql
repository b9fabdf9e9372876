-- Ends an attempt with an answer, in one statement; it says 1 when the attempt was the current one.
with clock as materialized (
    select record_now() as now
),
held as materialized (
    select c.id, c.last_seq
    from runs r join cards c on c.id = r.card_id join cards seen on seen.id = c.id and seen.version = c.version
    where r.id = $1 and r.epoch = $2 and r.token = $3 and r.state = 'running'
    for no key update of c
),
ended as (
    update runs r set
        state = 'finished',
        ended_at = (select now from clock),
        failure = null,
        failed_because = null,
        failures_in_row = 0,
        again_at = null,
        tries = 0,
        starts = 0,
        settled = r.epoch
    where r.id = $1 and r.epoch = $2 and r.token = $3 and r.state = 'running'
      and r.card_id = any (array(select id from held))
    returning 1
),
settled as (
    update turns t set state = 'settled'
    where t.card_id = any (array(select id from held)) and t.run_id = $1 and t.state = 'leased'
      and t.state in ('pending', 'leased')
    returning 1
),
said as (
    insert into turns (id, card_id, seq, author_kind, author, body, state, run_id, said_at)
    select $4, h.id, h.last_seq + 1, 'agent', $1::text, $5, 'settled', $1, (select now from clock) from held h
    returning 1
),
changed as (
    update cards c set
        last_seq = c.last_seq + 1,
        ready_for = case when exists (
            select 1 from turns t where t.card_id = c.id and t.state = 'pending' and t.state in ('pending', 'leased'))
            then 'turns' else 'nothing' end,
        usage_turns = c.usage_turns + $6,
        updated_at = (select now from clock),
        version = c.version + 1
    where c.id = any (array(select id from held))
    returning 1
)
select (select count(*) from changed), (select pg_notify(record_channel(), ''))::text
