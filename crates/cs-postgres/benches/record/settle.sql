-- Ends an attempt with an answer, in one statement; it says 1 when the attempt was the current one. What the attempt was given
-- is settled with it: its turns, answers to its questions, its children; and its route works.
with clock as materialized (
    select record_now() as now
),
held as materialized (
    select c.id, c.last_seq, r.machine_id, r.agent, coalesce(r.resumed_at, r.started_at) as began_at
    from runs r join cards c on c.id = r.card_id join cards seen on seen.id = c.id and seen.version = c.version
    where r.id = $1 and r.epoch = $2 and r.token = $3 and r.state = 'running'
    for no key update of c
),
asked as materialized (
    select
        bool_or(a.state in ('open', 'accepted')) as waits,
        bool_or(a.state = 'answered' and not a.delivered and a.given is distinct from $2) as has_news
    from asks a
    where a.card_id = any (array(select id from held)) and a.run_id = $1
),
delivered as (
    update asks a set delivered = true
    where a.card_id = any (array(select id from held)) and a.run_id = $1 and a.given = $2 and a.state = 'answered'
    returning 1
),
read_back as (
    update runs r set read_back = true
    where r.parent_id = $1 and r.given = $2 and r.ended_at is not null and r.again_at is null
      and exists (select 1 from held)
    returning 1
),
opened as (
    delete from parked_routes k using held h
    where k.machine_id = h.machine_id and k.agent = h.agent and k.since <= h.began_at
    returning 1
),
ended as (
    update runs r set
        state = case when a.waits or a.has_news then 'asked' else 'finished' end,
        ended_at = case when a.waits or a.has_news then null else (select now from clock) end,
        failure = null,
        failed_because = null,
        failures_in_row = 0,
        again_at = null,
        tries = 0,
        starts = 0,
        settled = r.epoch,
        fresh = false
    from asked a
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
        ready_for = case
            when exists (
                select 1 from turns t where t.card_id = c.id and t.state = 'pending' and t.state in ('pending', 'leased'))
            then 'turns'
            when (select has_news from asked) then 'rearm'
            else 'nothing' end,
        ready_from = (select now from clock),
        usage_turns = c.usage_turns + $6,
        updated_at = (select now from clock),
        version = c.version + 1
    where c.id = any (array(select id from held))
    returning 1
)
select (select count(*) from changed), (select pg_notify(record_channel(), ''))::text
