-- The second half of the first step: functions that lock and load. They decide nothing.

-- The time of the record.
create function record_now() returns bigint language sql volatile as $$
    select round(extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;

-- The channel on which this record tells of changes: one of its own for every schema.
create function record_channel() returns text language sql stable as $$
    select 'cs_panel_' || md5(current_schema())
$$;

-- Everything that a decision looks at, of the given cards in their order, as of the statement that calls this: so it is called
-- in a statement after the one that locked them. Turns come without their words. It is PL/pgSQL, since a session then plans it once;
-- a function in SQL would be planned anew at every call.
create function load_rows(p_cards uuid[], p_named uuid[]) returns json language plpgsql stable as $$
begin
    return json_build_object(
        'cards', coalesce((
            select json_agg(c order by o.place)
            from unnest(p_cards) with ordinality o (id, place) join cards c on c.id = o.id), '[]'),
        'runs', coalesce((
            select json_agg(r order by r.id) from runs r
            where r.card_id = any (p_cards)
              and (r.state in ('running', 'asked') or r.again_at is not null or r.pid is not null
                   or (r.parent_id is not null and not r.read_back) or r.id = any (p_named)
                   or r.id in (select c.owner_id from cards c where c.id = any (p_cards)))), '[]'),
        'turns', coalesce((
            select json_agg(json_build_object(
                'id', t.id, 'card_id', t.card_id, 'seq', t.seq, 'state', t.state, 'run_id', t.run_id, 'said_at', t.said_at)
                order by t.seq)
            from (
                select * from turns w where w.card_id = any (p_cards) and w.state in ('pending', 'leased')
                union all
                select * from turns n
                where n.id = any (p_named) and n.card_id = any (p_cards) and n.state not in ('pending', 'leased')
            ) t), '[]'),
        'asks', coalesce((
            select json_agg(a order by a.id) from asks a
            where a.card_id = any (p_cards)
              and (a.state in ('open', 'accepted') or (a.state = 'answered' and not a.delivered) or a.id = any (p_named))
            ), '[]'),
        'landings', coalesce((
            select json_agg(l order by l.id) from landings l
            where l.card_id = any (p_cards) and (l.state in ('accepted', 'running') or l.id = any (p_named))), '[]'),
        'waits_for', coalesce((
            select json_agg(u order by u.card_id, u.after_id) from undone_dependencies u
            where u.card_id = any (p_cards)), '[]'));
end
$$;

-- What limits the takes of a machine. The last two: the codebases whose cards may be begun, and may go on.
create type room as (
    pause     text,
    free      bigint,
    person    text,
    parked    text[],
    codebases json,
    fresh     uuid[],
    begun     uuid[]
);

-- Of several pauses `pause` is the strictest. A run counts until its process is proven gone. A machine whose daemon was never
-- there serves everyone.
create function room_of(p_machine uuid, p_codebases uuid[], p_now bigint) returns room language sql stable as $$
    with codebases as (
        select
            b.id,
            (select max(p.kind) from pauses p where p.codebase_id = b.id) as pause,
            (select greatest(0, l.most - (
                    select count(*) from runs r where r.codebase_id = b.id and (r.pid is not null or r.state = 'running')))
                from limits l where l.kind = 'codebase' and l.id = b.id) as free
        from unnest(p_codebases) b (id)
    )
    select
        (select max(p.kind) from pauses p where p.scope = 'everything' or p.machine_id = p_machine),
        (select greatest(0, l.most - (
                select count(*) from runs r where r.machine_id = p_machine and (r.pid is not null or r.state = 'running')))
            from limits l where l.kind = 'machine' and l.id = p_machine),
        (select m.person from machines m where m.id = p_machine and not m.serves_everyone),
        array(select k.agent from parked_routes k where k.machine_id = p_machine and (k.until is null or k.until > p_now)),
        (select coalesce(json_agg(c), '[]') from codebases c),
        array(select c.id from codebases c where c.pause is null and c.free is distinct from 0),
        array(select c.id from codebases c where c.pause is distinct from 'pause' and c.free is distinct from 0)
$$;

-- Whether a machine may have a card that is ready, apart from its time, from parked routes and from what the card waits for. The
-- takes and the peek ask this one; it has no part that would keep the planner from reading it as their own words.
create function is_offered(c cards, p_machine uuid, p_agents text[], p_room room) returns boolean
language sql immutable as $$
    select c.state = 'open' and c.ready_for <> 'nothing'
       and (c.machine_id is null or c.machine_id = p_machine)
       and (p_room.person is null or c.person = p_room.person)
       and c.agent = any (p_agents)
       and (p_room.pause is null or (p_room.pause = 'drain' and c.machine_id is not null))
       and p_room.free is distinct from 0
       and (c.codebase_id is null
            or c.codebase_id = any (case when c.machine_id is null then p_room.fresh else p_room.begun end))
$$;

-- The landings that their machines may take now: of each codebase that has none running the first that was accepted.
create view takeable_landings as
select l.* from landings l
where l.state = 'accepted'
  and not exists (select 1 from landings r where r.codebase_id = l.codebase_id and r.state = 'running')
  and not exists (
        select 1 from landings e
        where e.codebase_id = l.codebase_id and e.state = 'accepted' and e.machine_id = l.machine_id
          and (e.accepted_at, e.id) < (l.accepted_at, l.id))
  and not exists (select 1 from runs r where r.card_id = l.card_id and r.pid is not null)
  and not exists (
        select 1 from pauses p
        where p.kind = 'pause'
          and (p.scope = 'everything' or p.machine_id = l.machine_id or p.codebase_id = l.codebase_id));

-- What a lock returns: a stored journal row, and nothing else, when the operation is known.
create type locked as (
    journaled json,
    now       bigint,
    limits    json,
    earlier   json,
    loaded    json
);

-- Inserts the journal row of an operation that begins, before anything is locked; returns the stored one when there is one. It
-- waits for a transaction that has begun the same operation.
create function begin_operation(p_operation uuid, p_machine uuid, p_kind text, p_now bigint) returns json
language plpgsql volatile as $$
declare
    stored json;
begin
    if p_operation is null then
        return null;
    end if;
    insert into journal (operation_id, machine_id, kind, result, at)
    values (p_operation, p_machine, p_kind, 'null', coalesce(p_now, record_now()))
    on conflict (operation_id) do nothing;
    if not found then
        select row_to_json(j) into strict stored from journal j where j.operation_id = p_operation;
    end if;
    return stored;
end
$$;

-- Locks what limits the starts on a machine, and returns the codebases that it has: whoever pauses or limits waits until the
-- takes that saw nothing of it are over, so that it is obeyed once it is made, and no two starts count the same free place.
create function lock_limits(p_machine uuid) returns uuid[] language plpgsql volatile as $$
declare
    mine uuid[];
begin
    lock table pauses in row share mode;
    mine := array(select m.codebase_id from machine_codebases m where m.machine_id = p_machine);
    perform 1 from limits l
    where (l.kind = 'machine' and l.id = p_machine) or (l.kind = 'codebase' and l.id = any (mine))
    order by l.kind, l.id
    for update of l;
    return mine;
end
$$;

-- Locks cards that are ready for a kind of work, or for recovery, and that a machine may have; waits for no card. They are read in
-- the order of their index until there are enough: a plan that sorts reads all that are ready.
create function lock_ready(
    p_now bigint, p_operation uuid, p_machine uuid, p_what text, p_agents text[], p_limit bigint
) returns locked language plpgsql volatile set enable_sort = off as $$
declare
    result locked;
    mine   uuid[];
    room   room;
    ids    uuid[];
begin
    result.journaled := begin_operation(p_operation, p_machine, 'begun', p_now);
    if result.journaled is not null then
        return result;
    end if;
    mine := lock_limits(p_machine);
    result.now := coalesce(p_now, record_now());
    select r.* into room from room_of(p_machine, mine, result.now) r;
    if p_what = 'recovery' then
        ids := array(
            select c.id from cards c
            where c.recovery and c.ready_from <= result.now and is_offered(c, p_machine, p_agents, room)
              and not exists (select 1 from undone_dependencies u where u.card_id = c.id)
            order by c.priority desc, c.ready_from, c.id
            limit p_limit
            for no key update of c skip locked);
    else
        ids := array(
            select c.id from cards c
            where c.ready_for = p_what and c.agent <> all (room.parked)
              and c.ready_from <= result.now and is_offered(c, p_machine, p_agents, room)
              and not exists (select 1 from undone_dependencies u where u.card_id = c.id)
            order by c.priority desc, c.ready_from, c.id
            limit p_limit
            for no key update of c skip locked);
    end if;
    result.limits := row_to_json(room);
    select load_rows(ids, '{}') into result.loaded;
    return result;
end
$$;

-- Locks the cards with a landing that a machine is to carry out; waits for none. The codebases are locked first: a landing of
-- one begins only under that lock, so that no other begins between the look and the write.
create function lock_landings(
    p_now bigint, p_operation uuid, p_machine uuid, p_limit bigint
) returns locked language plpgsql volatile as $$
declare
    result locked;
    mine   uuid[];
    bases  uuid[];
    ids    uuid[];
begin
    result.journaled := begin_operation(p_operation, p_machine, 'begun', p_now);
    if result.journaled is not null then
        return result;
    end if;
    lock table pauses in row share mode;
    bases := array(
        select b.id from codebases b
        where b.id in (select l.codebase_id from landings l where l.state = 'accepted' and l.machine_id = p_machine)
        order by b.id
        for no key update of b skip locked);
    ids := array(
        select c.id from takeable_landings l join cards c on c.id = l.card_id
        where l.machine_id = p_machine and l.codebase_id = any (bases)
        order by l.accepted_at, l.id
        limit p_limit
        for no key update of c skip locked);
    result.now := coalesce(p_now, record_now());
    mine := array(select m.codebase_id from machine_codebases m where m.machine_id = p_machine);
    select row_to_json(r) into result.limits from room_of(p_machine, mine, result.now) r;
    select load_rows(ids, '{}') into result.loaded;
    return result;
end
$$;

-- Locks cards by id, in the order of their ids, and waits for each; those that are not there are left out.
create function lock_cards(
    p_now bigint, p_operation uuid, p_machine uuid, p_cards uuid[], p_named uuid[]
) returns locked language plpgsql volatile as $$
declare
    result locked;
    ids    uuid[];
begin
    result.journaled := begin_operation(p_operation, p_machine, 'begun', p_now);
    if result.journaled is not null then
        return result;
    end if;
    ids := array(select c.id from cards c where c.id = any (p_cards) order by c.id for no key update of c);
    result.now := coalesce(p_now, record_now());
    select load_rows(ids, p_named) into result.loaded;
    return result;
end
$$;

-- Locks the cards of runs, of an ask, or of a landing: which card it is never changes, so that it may be read before the lock.
create function lock_cards_of(
    p_now bigint, p_operation uuid, p_machine uuid, p_what text, p_named uuid[]
) returns locked language plpgsql volatile as $$
begin
    return lock_cards(p_now, p_operation, p_machine, case p_what
        when 'runs' then array(select r.card_id from runs r where r.id = any (p_named))
        when 'asks' then array(select a.card_id from asks a where a.id = any (p_named))
        when 'landings' then array(select l.card_id from landings l where l.id = any (p_named))
    end, p_named);
end
$$;

-- Locks what limits the starts on a machine, and then the card of a run; waits for each.
create function lock_start(p_now bigint, p_operation uuid, p_machine uuid, p_run uuid) returns locked
language plpgsql volatile as $$
declare
    result locked;
    mine   uuid[];
begin
    result.journaled := begin_operation(p_operation, p_machine, 'begun', p_now);
    if result.journaled is not null then
        return result;
    end if;
    mine := lock_limits(p_machine);
    result := lock_cards_of(p_now, null, null, 'runs', array[p_run]);
    select row_to_json(r) into result.limits from room_of(p_machine, mine, result.now) r;
    return result;
end
$$;

-- Locks a card, also one that is not there, and says which of other cards are there and wait for it. While cards are named, no
-- other such call is under way: two cards could come to wait for each other between their looks and their writes.
create function lock_send(
    p_now bigint, p_operation uuid, p_machine uuid, p_card uuid, p_turn uuid, p_after uuid[]
) returns locked language plpgsql volatile as $$
declare
    result locked;
begin
    result.journaled := begin_operation(p_operation, p_machine, 'begun', p_now);
    if result.journaled is not null then
        return result;
    end if;
    if cardinality(p_after) > 0 then
        perform pg_advisory_xact_lock(hashtext('cs-panel dependencies'), hashtext(current_schema()));
    end if;
    result := lock_cards(p_now, null, null, array[p_card], array[p_turn]);
    select coalesce(json_agg(json_build_object('card', c.id, 'waits_for_it', reaches(c.id, p_card)) order by c.id), '[]')
    into result.earlier from cards c where c.id = any (p_after);
    return result;
end
$$;
