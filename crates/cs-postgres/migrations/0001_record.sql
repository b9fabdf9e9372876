-- The record: one row a card, and what belongs to it. Times are microseconds since 1970-01-01 UTC by this server's clock, token
-- hashes are hexadecimal, names sort by their bytes. The constraints say once more what the rules hold; the functions lock and
-- load, and decide nothing. In free texts NUL is stored as U+0010 followed by `0`, and U+0010 as U+0010 followed by `1`.

-- One row: the version of this schema, and the lowest version that a binary must know to use it.
create table cs_panel_version (
    only_row    boolean not null primary key default true check (only_row),
    version     integer not null check (version >= 1),
    usable_from integer not null check (usable_from between 1 and version),
    migrated_at bigint  not null
);

create table codebases (
    id         uuid   not null primary key,
    name       text   not null collate "C" unique check (length(name) between 1 and 200),
    created_at bigint not null
);

create table machines (
    id            uuid   not null primary key,
    name          text   not null,
    person        text   not null,
    boot_id       text   not null,
    daemon        text   not null check (length(daemon) = 64),
    seen_at       bigint not null,
    present_until bigint not null
);

-- Which codebases a machine has a checkout of. A command may say so before the machine's daemon was ever there.
create table machine_codebases (
    machine_id  uuid not null,
    codebase_id uuid not null references codebases (id),
    primary key (machine_id, codebase_id)
);

create table pauses (
    scope      text   not null primary key,
    machine_id uuid   check ((machine_id is null) = (scope = 'everything')),
    reason     text,
    person     text   not null,
    at         bigint not null
);

create table cards (
    id                   uuid    not null primary key,
    title                text    not null,
    state                text    not null check (state in ('open', 'failed', 'stopped', 'landed', 'closed')),
    reason               text,
    person               text    not null,
    codebase_id          uuid    references codebases (id),
    base                 text,
    agent                text    not null,
    owner_id             uuid,
    machine_id           uuid,
    last_seq             bigint  not null check (last_seq >= 0),
    ready_for            text    not null check (ready_for in ('nothing', 'turns', 'rearm', 'resume')),
    ready_from           bigint  not null,
    tries                bigint  not null check (tries >= 0),
    starts               bigint  not null check (starts >= 0),
    usage_turns          bigint  not null check (usage_turns >= 0),
    usage_input_tokens   bigint  not null check (usage_input_tokens >= 0),
    usage_output_tokens  bigint  not null check (usage_output_tokens >= 0),
    usage_cost_microusd  bigint  not null check (usage_cost_microusd >= 0),
    created_at           bigint  not null,
    updated_at           bigint  not null,
    version              bigint  not null check (version >= 1),
    check (state = 'open' or ready_for = 'nothing')
);

create index cards_ready on cards (ready_for, ready_from, id) where ready_for <> 'nothing';
create index cards_updated on cards (updated_at);

create table runs (
    id              uuid   not null primary key,
    card_id         uuid   not null references cards (id),
    kind            text   not null check (kind in ('launcher', 'owner', 'worker', 'issue')),
    state           text   not null check (state in (
        'running', 'asked', 'finished', 'failed', 'stopped', 'interrupted', 'capped_turns', 'capped_wall', 'capped_spend',
        'capped_output', 'blocked', 'orphaned_clean', 'orphaned_dirty')),
    epoch           bigint not null check (epoch >= 1),
    token           text   not null check (length(token) = 64),
    machine_id      uuid   not null,
    agent           text   not null,
    pid             bigint,
    start_ticks     bigint,
    boot_id         text,
    started_at      bigint not null,
    resumed_at      bigint,
    ended_at        bigint,
    again_at        bigint,
    failure         text,
    failed_because  text,
    failures_in_row bigint not null check (failures_in_row >= 0),
    check ((pid is null) = (start_ticks is null) and (pid is null) = (boot_id is null)),
    check ((state in ('running', 'asked')) = (ended_at is null)),
    check (again_at is null or state in ('failed', 'interrupted'))
);

alter table cards add constraint cards_owner_fkey foreign key (owner_id) references runs (id);

create index runs_card on runs (card_id);
create index runs_process on runs (machine_id) where pid is not null or state = 'running';
create unique index runs_one_live on runs (card_id, kind) where kind in ('launcher', 'owner') and state in ('running', 'asked');

create table turns (
    id          uuid   not null primary key,
    card_id     uuid   not null references cards (id),
    seq         bigint not null check (seq >= 1),
    author_kind text   not null check (author_kind in ('person', 'agent', 'system')),
    author      text   check ((author is null) = (author_kind = 'system')),
    body        text   not null,
    state       text   not null check (state in ('pending', 'leased', 'settled')),
    run_id      uuid   references runs (id),
    said_at     bigint not null,
    unique (card_id, seq),
    check (state <> 'leased' or run_id is not null),
    check (state <> 'pending' or run_id is null)
);

create index turns_waiting on turns (card_id) where state in ('pending', 'leased');

create table asks (
    id               uuid    not null primary key,
    card_id          uuid    not null references cards (id),
    run_id           uuid    not null references runs (id),
    question         text    not null,
    choices          text    not null check (choices like '[%]'),
    offer            boolean not null,
    offer_message    text    check (offer or offer_message is null),
    state            text    not null check (state in ('open', 'accepted', 'answered', 'withdrawn')),
    answer           text,
    answered_by_kind text    check (answered_by_kind in ('person', 'agent', 'system')),
    answered_by      text,
    asked_at         bigint  not null,
    answered_at      bigint,
    delivered        boolean not null,
    given            bigint,
    turn_id          uuid    references turns (id),
    check ((state = 'answered') = (answer is not null and answered_at is not null and answered_by_kind is not null))
);

create index asks_card on asks (card_id);
create index asks_open on asks (asked_at) where state = 'open';

create table landings (
    id          uuid   not null primary key,
    card_id     uuid   not null references cards (id),
    codebase_id uuid   not null references codebases (id),
    ask_id      uuid   references asks (id),
    message     text,
    state       text   not null check (state in ('accepted', 'running', 'landed', 'conflict', 'verify_failed', 'refused')),
    epoch       bigint not null check (epoch >= 0),
    token       text   check (length(token) = 64),
    machine_id  uuid   not null,
    accepted_by text   not null,
    accepted_at bigint not null,
    commit_id   text   check ((commit_id is not null) = (state = 'landed')),
    result      text,
    ended_at    bigint check ((ended_at is null) = (state in ('accepted', 'running'))),
    check (state <> 'running' or token is not null)
);

create index landings_card on landings (card_id);
create index landings_accepted on landings (machine_id, accepted_at) where state = 'accepted';
create unique index landings_one_of_card on landings (card_id) where state in ('accepted', 'running');
create unique index landings_one_of_codebase on landings (codebase_id) where state = 'running';

-- One row an operation: inserted before anything is locked, and given its kind and result by the commit.
create table journal (
    operation_id uuid   not null primary key,
    machine_id   uuid   not null,
    kind         text   not null,
    result       text   not null,
    at           bigint not null
);

create function epoch_only_grows() returns trigger language plpgsql as $$
begin
    if new.epoch < old.epoch or (new.token is distinct from old.token and new.epoch = old.epoch) then
        raise exception 'the epoch of % in % only grows, and each has one token', old.id, tg_table_name
            using errcode = 'check_violation';
    end if;
    return new;
end
$$;

create trigger runs_epoch_grows before update of epoch, token on runs
for each row when (new.epoch <> old.epoch or new.token is distinct from old.token) execute function epoch_only_grows();
create trigger landings_epoch_grows before update of epoch, token on landings
for each row when (new.epoch <> old.epoch or new.token is distinct from old.token) execute function epoch_only_grows();

-- The time of the record.
create function record_now() returns bigint language sql volatile as $$
    select round(extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;

-- The channel on which this record tells of changes: one of its own for every schema.
create function record_channel() returns text language sql stable as $$
    select 'cs_panel_' || md5(current_schema())
$$;

-- Everything that a decision looks at, of the given cards in their order, as of the statement that calls this: so it is called
-- in a statement after the one that locked them. Turns come without their words.
create function load_rows(p_cards uuid[], p_named uuid[]) returns json language sql stable as $$
    select json_build_object(
        'cards', coalesce((
            select json_agg(c order by o.place)
            from unnest(p_cards) with ordinality o (id, place) join cards c on c.id = o.id), '[]'),
        'runs', coalesce((
            select json_agg(r order by r.id) from runs r
            where r.card_id = any (p_cards)
              and (r.state in ('running', 'asked') or r.id = any (p_named)
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
            where l.card_id = any (p_cards) and (l.state in ('accepted', 'running') or l.id = any (p_named))), '[]'))
$$;

-- What a lock returns: a stored journal row, and nothing else, when the operation is known.
create type locked as (
    journaled json,
    now       bigint,
    paused    boolean,
    codebases json,
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

-- Locks what limits the takes of a machine, and reads it after that: whoever pauses waits until the takes that saw no pause are
-- over, so that a pause that was made is obeyed.
create function lock_limits(p_machine uuid, inout p_locked locked) language plpgsql volatile as $$
begin
    lock table pauses in row share mode;
    select exists (select 1 from pauses p where p.machine_id is null or p.machine_id = p_machine) into p_locked.paused;
    select coalesce(json_agg(m.codebase_id), '[]') into p_locked.codebases
    from machine_codebases m where m.machine_id = p_machine;
end
$$;

-- Locks cards that are ready for a kind of work and that a machine may have; waits for no card.
create function lock_ready(
    p_now bigint, p_operation uuid, p_machine uuid, p_what text, p_agents text[], p_limit bigint
) returns locked language plpgsql volatile as $$
declare
    result locked;
    ids    uuid[];
begin
    result.journaled := begin_operation(p_operation, p_machine, 'begun', p_now);
    if result.journaled is not null then
        return result;
    end if;
    result := lock_limits(p_machine, result);
    result.now := coalesce(p_now, record_now());
    if not result.paused then
        ids := array(
            select c.id from cards c
            where c.ready_for = p_what and c.ready_for <> 'nothing' and c.ready_from <= result.now and c.state = 'open'
              and (c.machine_id is null or c.machine_id = p_machine)
              and (c.codebase_id is null or exists (
                    select 1 from machine_codebases m where m.machine_id = p_machine and m.codebase_id = c.codebase_id))
              and c.agent = any (p_agents)
            order by c.ready_from, c.id
            limit p_limit
            for no key update of c skip locked);
    end if;
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
    bases  uuid[];
    ids    uuid[];
begin
    result.journaled := begin_operation(p_operation, p_machine, 'begun', p_now);
    if result.journaled is not null then
        return result;
    end if;
    result := lock_limits(p_machine, result);
    if not result.paused then
        bases := array(
            select b.id from codebases b
            where b.id in (select l.codebase_id from landings l where l.state = 'accepted' and l.machine_id = p_machine)
            order by b.id
            for no key update of b skip locked);
        ids := array(
            select c.id from landings l join cards c on c.id = l.card_id
            where l.state = 'accepted' and l.machine_id = p_machine and l.codebase_id = any (bases)
              and not exists (select 1 from landings r where r.codebase_id = l.codebase_id and r.state = 'running')
              and not exists (
                    select 1 from landings e
                    where e.codebase_id = l.codebase_id and e.state = 'accepted' and e.machine_id = p_machine
                      and (e.accepted_at, e.id) < (l.accepted_at, l.id))
              and not exists (select 1 from runs o where o.id = c.owner_id and o.pid is not null)
            order by l.accepted_at, l.id
            limit p_limit
            for no key update of c skip locked);
    end if;
    result.now := coalesce(p_now, record_now());
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
    result.paused := false;
    result.codebases := '[]';
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
