-- Takes cards and writes the journal row, all in one statement: what anybody would write who needs nothing but this, and keeps to
-- pauses, limits and the rest. A card that changed between the snapshot of the statement and its lock is left out, without which
-- turns get lost. Runs are counted as of the snapshot, so that two takes at once may both fill the last free place: one statement
-- cannot do better.
with clock as materialized (
    select record_now() as now
),
room as materialized (
    select
        (select max(p.kind) from pauses p where p.scope = 'everything' or p.machine_id = $2) as pause,
        (select greatest(0, l.most - (
                select count(*) from runs r where r.machine_id = $2 and (r.pid is not null or r.state = 'running')))
            from limits l where l.kind = 'machine' and l.id = $2) as free,
        (select m.person from machines m where m.id = $2 and not m.serves_everyone) as person
),
codebases as materialized (
    select
        m.codebase_id as id,
        (select max(p.kind) from pauses p where p.codebase_id = m.codebase_id) as pause,
        (select greatest(0, l.most - (
                select count(*) from runs r
                where r.codebase_id = m.codebase_id and (r.pid is not null or r.state = 'running')))
            from limits l where l.kind = 'codebase' and l.id = m.codebase_id) as free
    from machine_codebases m where m.machine_id = $2
),
picked as materialized (
    select c.id, c.owner_id, c.agent
    from cards c join cards seen on seen.id = c.id and seen.version = c.version
    where c.ready_for = 'turns' and c.ready_for <> 'nothing' and c.ready_from <= (select now from clock) and c.state = 'open'
      and (c.machine_id is null or c.machine_id = $2)
      and ((select person from room) is null or c.person = (select person from room))
      and ((select pause from room) is null or ((select pause from room) = 'drain' and c.machine_id is not null))
      and (c.codebase_id is null or exists (
            select 1 from codebases b
            where b.id = c.codebase_id and b.free is distinct from 0
              and (b.pause is null or (b.pause = 'drain' and c.machine_id is not null))))
      and c.agent = any ($3)
      and not exists (
            select 1 from parked_routes k
            where k.machine_id = $2 and k.agent = c.agent and (k.until is null or k.until > (select now from clock)))
      and not exists (
            select 1 from card_dependencies d join cards a on a.id = d.after_id where d.card_id = c.id and not a.done)
    order by c.priority desc, c.ready_from, c.id
    limit least($4, (select free from room), (select min(free) from codebases where free > 0))
    for no key update of c skip locked
),
begun as (
    update runs r set
        epoch = r.epoch + 1,
        token = encode(sha256(convert_to($5 || r.id || (r.epoch + 1), 'UTF8')), 'hex'),
        state = 'running',
        machine_id = $2,
        agent = p.agent,
        resumed_at = (select now from clock),
        ended_at = null,
        again_at = null,
        starts = r.starts + 1,
        given = null,
        read_back = false
    from picked p
    where r.id = p.owner_id and r.id = any (array(select owner_id from picked))
    returning r.id, r.card_id, r.kind, r.codebase_id, r.epoch, r.token, r.started_at, r.resumed_at, r.agent, r.fresh
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
        ready_from = (select now from clock),
        machine_id = $2,
        recovery = false,
        done = false,
        updated_at = (select now from clock),
        version = c.version + 1
    where c.id = any (array(select id from picked))
    returning 1
),
journaled as (
    insert into journal (operation_id, machine_id, kind, result, at)
    select $1, $2, 'take_turns', json_agg(json_build_object(
        'run', b.id, 'card', b.card_id, 'kind', b.kind, 'epoch', b.epoch, 'started_at', b.started_at,
        'resumed_at', b.resumed_at, 'agent', b.agent, 'codebase', b.codebase_id, 'fresh', b.fresh,
        'turn', l.id))::text, (select now from clock)
    from begun b join leased l on l.card_id = b.card_id
    having count(*) > 0
    returning 1
)
select b.id, b.epoch, b.token from begun b
