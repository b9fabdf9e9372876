-- The record: one row a card, and what belongs to it. Times are microseconds since 1970-01-01 UTC by this server's clock, token
-- hashes are hexadecimal, names sort by their bytes. The constraints say once more what the rules hold. In free texts NUL is stored as U+0010 followed by `0`, and U+0010 as U+0010 followed by `1`.

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
    id              uuid    not null primary key,
    name            text    not null,
    person          text    not null,
    boot_id         text    not null,
    daemon          text    not null check (length(daemon) = 64),
    seen_at         bigint  not null,
    present_until   bigint  not null,
    serves_everyone boolean not null default true -- otherwise it takes the cards of its person
);

-- Which codebases a machine has a checkout of. A command may say so before the machine's daemon was ever there.
create table machine_codebases (
    machine_id  uuid not null,
    codebase_id uuid not null references codebases (id),
    primary key (machine_id, codebase_id)
);

-- The scope is `everything`, or the kind and the id of what is paused.
create table pauses (
    scope       text   not null primary key,
    machine_id  uuid,
    codebase_id uuid,
    kind        text   not null check (kind in ('pause', 'drain')),
    reason      text,
    person      text   not null,
    at          bigint not null,
    check (scope = case
        when machine_id is null and codebase_id is null then 'everything'
        when codebase_id is null then 'machine ' || machine_id
        when machine_id is null then 'codebase ' || codebase_id
        else '' end)
);

-- How many runs may be live. A take and whatever else starts a run locks the rows that cover it before it counts.
create table limits (
    kind   text   not null collate "C" check (kind in ('machine', 'codebase')),
    id     uuid   not null,
    most   bigint not null check (most between 0 and 4294967295),
    person text   not null,
    at     bigint not null,
    primary key (kind, id)
);

-- Routes that take no work: until a time, or until somebody or a success says otherwise.
create table parked_routes (
    machine_id uuid   not null,
    agent      text   not null collate "C",
    class      text   not null,
    reason     text   not null,
    since      bigint not null,
    until      bigint,
    primary key (machine_id, agent)
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
    opening              text    not null check (opening in ('owner', 'launcher')),
    priority             smallint not null check (priority between -100 and 100),
    not_before           bigint,
    recovery             boolean not null,
    done                 boolean not null,
    last_seq             bigint  not null check (last_seq >= 0),
    ready_for            text    not null check (ready_for in ('nothing', 'turns', 'rearm', 'resume')),
    ready_from           bigint  not null,
    usage_turns          bigint  not null check (usage_turns >= 0),
    usage_input_tokens   bigint  not null check (usage_input_tokens >= 0),
    usage_output_tokens  bigint  not null check (usage_output_tokens >= 0),
    usage_cost_microusd  bigint  not null check (usage_cost_microusd >= 0),
    created_at           bigint  not null,
    updated_at           bigint  not null,
    version              bigint  not null check (version >= 1),
    check (state = 'open' or ready_for = 'nothing')
);

create index cards_ready on cards (ready_for, priority desc, ready_from, id) where ready_for <> 'nothing';
create index cards_recovery on cards (priority desc, ready_from, id) where recovery;
create index cards_updated on cards (updated_at);

-- Which cards wait until others are done.
create table card_dependencies (
    card_id  uuid not null references cards (id),
    after_id uuid not null references cards (id),
    primary key (card_id, after_id)
);

create table runs (
    id              uuid    not null primary key,
    card_id         uuid    not null references cards (id),
    kind            text    not null check (kind in ('launcher', 'owner', 'worker', 'issue')),
    parent_id       uuid    references runs (id),
    codebase_id     uuid    references codebases (id),
    model           text,
    effort          text,
    state           text    not null check (state in (
        'running', 'asked', 'finished', 'failed', 'stopped', 'interrupted', 'capped_turns', 'capped_wall', 'capped_spend',
        'capped_output', 'blocked', 'orphaned_clean', 'orphaned_dirty')),
    epoch           bigint  not null check (epoch >= 1),
    token           text    not null check (length(token) = 64),
    machine_id      uuid    not null,
    agent           text    not null,
    pid             bigint,
    start_ticks     bigint,
    boot_id         text,
    started_at      bigint  not null,
    resumed_at      bigint,
    ended_at        bigint,
    again_at        bigint,
    failure         text,
    failed_because  text,
    failures_in_row bigint  not null check (failures_in_row >= 0),
    tries           bigint  not null check (tries >= 0),
    starts          bigint  not null check (starts >= 0),
    settled         bigint  not null check (settled between 0 and epoch),
    given           bigint  check (given is null or (given >= 1 and parent_id is not null)),
    read_back       boolean not null,
    handed_back_at  bigint,
    fresh           boolean not null,
    check ((pid is null) = (start_ticks is null) and (pid is null) = (boot_id is null)),
    check ((state in ('running', 'asked')) = (ended_at is null)),
    check (again_at is null or state in ('failed', 'interrupted')),
    check (case kind when 'worker' then parent_id is not null when 'owner' then true else parent_id is null end),
    check (not read_back or (parent_id is not null and ended_at is not null))
);

alter table cards add constraint cards_owner_fkey foreign key (owner_id) references runs (id);

create index runs_card on runs (card_id);
create index runs_parent on runs (parent_id) where parent_id is not null;
create index runs_process on runs (machine_id) where pid is not null or state = 'running';
create index runs_process_of_codebase on runs (codebase_id) where pid is not null or state = 'running';
create unique index runs_one_owner on runs (card_id) where kind = 'owner';
create unique index runs_one_live_launcher on runs (card_id) where kind = 'launcher' and state in ('running', 'asked');

-- What a parent wrote to a run, under epoch 0, and what each of its attempts reported.
create table run_texts (
    run_id uuid   not null references runs (id),
    epoch  bigint not null check (epoch >= 0),
    body   text   not null,
    primary key (run_id, epoch)
);

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
    addressee        text    not null check (addressee in ('person', 'parent')),
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

create index journal_at on journal (at, operation_id);

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

-- A run stays where it was made.
create function run_stays() returns trigger language plpgsql as $$
begin
    raise exception 'run % never changes its card, kind or parent', old.id using errcode = 'check_violation';
end
$$;

create trigger runs_stay before update of id, card_id, kind, parent_id on runs
for each row when (
    (old.id, old.card_id, old.kind) <> (new.id, new.card_id, new.kind) or new.parent_id is distinct from old.parent_id
) execute function run_stays();

-- An owner has no parent or the launcher of its card, a worker has an owner of its card.
create function parent_fits() returns trigger language plpgsql as $$
begin
    if not exists (
        select 1 from runs p
        where p.id = new.parent_id and p.card_id = new.card_id
          and p.kind = case new.kind when 'owner' then 'launcher' when 'worker' then 'owner' end
    ) then
        raise exception 'run % has a parent that does not fit', new.id using errcode = 'check_violation';
    end if;
    return null;
end
$$;

create trigger runs_parent_fits after insert on runs
for each row when (new.parent_id is not null) execute function parent_fits();

create function text_stays() returns trigger language plpgsql as $$
begin
    raise exception 'a text of run % is written once and stays', old.run_id using errcode = 'check_violation';
end
$$;

create trigger run_texts_stay before update or delete on run_texts for each row execute function text_stays();

-- The cards that others wait for and that are not done.
create view undone_dependencies as
select d.card_id, d.after_id from card_dependencies d join cards a on a.id = d.after_id where not a.done;

-- Whether a card waits for another one, over any number of others; every card does so for itself.
create function reaches(p_card uuid, p_after uuid) returns boolean language sql stable as $$
    with recursive earlier (id) as (
        select p_card
        union
        select d.after_id from earlier e join card_dependencies d on d.card_id = e.id
    )
    select exists (select 1 from earlier e where e.id = p_after)
$$;

create function dependency_fits() returns trigger language plpgsql as $$
begin
    if reaches(new.after_id, new.card_id) then
        raise exception 'card % waits for itself', new.card_id using errcode = 'check_violation';
    end if;
    return null;
end
$$;

create constraint trigger card_dependencies_fit after insert or update on card_dependencies
for each row execute function dependency_fits();
