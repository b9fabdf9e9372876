-- Takes cards and writes the journal row, all in one statement: what anybody would write who needs nothing but this. A card that
-- changed between the snapshot of the statement and its lock is left out, without which turns get lost.
with clock as materialized (
    select record_now() as now
),
picked as materialized (
    select c.id, c.owner_id
    from cards c join cards seen on seen.id = c.id and seen.version = c.version
    where c.ready_for = 'turns' and c.ready_for <> 'nothing' and c.ready_from <= (select now from clock) and c.state = 'open'
      and (c.machine_id is null or c.machine_id = $2)
      and (c.codebase_id is null or exists (
            select 1 from machine_codebases m where m.machine_id = $2 and m.codebase_id = c.codebase_id))
      and c.agent = any ($3)
      and not exists (
            select 1 from pauses p where p.scope = 'everything' or p.machine_id = $2 or p.codebase_id = c.codebase_id)
      and not exists (
            select 1 from parked_routes k
            where k.machine_id = $2 and k.agent = c.agent and (k.until is null or k.until > (select now from clock)))
      and not exists (
            select 1 from card_dependencies d join cards a on a.id = d.after_id where d.card_id = c.id and not a.done)
    order by c.priority desc, c.ready_from, c.id
    limit $4
    for no key update of c skip locked
),
begun as (
    update runs r set
        epoch = r.epoch + 1,
        token = encode(sha256(convert_to($5 || r.id || (r.epoch + 1), 'UTF8')), 'hex'),
        state = 'running',
        machine_id = $2,
        resumed_at = (select now from clock),
        ended_at = null,
        again_at = null,
        starts = r.starts + 1
    where r.id = any (array(select owner_id from picked))
    returning r.id, r.card_id, r.kind, r.epoch, r.token, r.started_at, r.resumed_at, r.agent
),
leased as (
    update turns t set state = 'leased', run_id = p.owner_id
    from picked p
    where t.card_id = p.id and t.card_id = any (array(select id from picked)) and t.state = 'pending'
      and t.state in ('pending', 'leased')
    returning t.id, t.card_id
),
changed as (
    update cards c set
        ready_for = 'nothing',
        machine_id = $2,
        recovery = false,
        updated_at = (select now from clock),
        version = c.version + 1
    where c.id = any (array(select id from picked))
    returning 1
),
journaled as (
    insert into journal (operation_id, machine_id, kind, result, at)
    select $1, $2, 'take_turns', json_agg(json_build_object(
        'run', b.id, 'card', b.card_id, 'kind', b.kind, 'epoch', b.epoch, 'started_at', b.started_at,
        'resumed_at', b.resumed_at, 'agent', b.agent, 'turn', l.id))::text, (select now from clock)
    from begun b join leased l on l.card_id = b.card_id
    having count(*) > 0
    returning 1
)
select b.id, b.epoch, b.token from begun b
