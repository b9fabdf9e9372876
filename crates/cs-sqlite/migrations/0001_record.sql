-- The record: one row a card, and what belongs to it. Times are microseconds since 1970-01-01 UTC, ids are UUID texts,
-- token hashes are hexadecimal. The constraints say once more what the rules hold.

create table codebases (
    id         text    not null primary key,
    name       text    not null unique check (length(name) between 1 and 100),
    created_at integer not null
) strict;

create table machines (
    id              text    not null primary key,
    name            text    not null,
    person          text    not null,
    boot_id         text    not null,
    daemon          text    not null check (length(daemon) = 64),
    seen_at         integer not null,
    present_until   integer not null,
    serves_everyone integer not null check (serves_everyone in (0, 1))
) strict;

-- Which codebases a machine has a checkout of. A command may say so before the machine's daemon was ever there.
create table machine_codebases (
    machine_id  text not null,
    codebase_id text not null references codebases (id),
    primary key (machine_id, codebase_id)
) strict, without rowid;

-- What stops new work, one row a scope: everything, a machine or a codebase.
create table pauses (
    scope       text    not null primary key check (scope = case
        when machine_id is not null then 'machine:' || machine_id
        when codebase_id is not null then 'codebase:' || codebase_id
        else 'everything' end),
    kind        text    not null check (kind in ('pause', 'drain')),
    machine_id  text,
    codebase_id text    check (codebase_id is null or machine_id is null),
    reason      text,
    person      text    not null,
    at          integer not null
) strict;

-- How many runs may be live on a machine or a codebase. They are counted where a limit is applied, under the write lock.
create table limits (
    kind   text    not null check (kind in ('machine', 'codebase')),
    id     text    not null,
    most   integer not null check (most >= 0),
    person text    not null,
    at     integer not null,
    primary key (kind, id)
) strict, without rowid;

-- Routes that take no work: until a time, or, without one, until a person or a success says otherwise.
create table parked_routes (
    machine_id text    not null,
    agent      text    not null,
    class      text    not null,
    reason     text    not null,
    since      integer not null,
    until      integer,
    primary key (machine_id, agent)
) strict, without rowid;

create table cards (
    id                   text    not null primary key,
    title                text    not null,
    state                text    not null check (state in ('open', 'failed', 'stopped', 'landed', 'closed')),
    reason               text,
    person               text    not null,
    codebase_id          text    references codebases (id),
    base                 text,
    agent                text    not null,
    owner_id             text    references runs (id),
    machine_id           text,
    opening              text    not null check (opening in ('owner', 'launcher')),
    priority             integer not null check (priority between -100 and 100),
    not_before           integer,
    recovery             integer not null check (recovery in (0, 1)),
    done                 integer not null check (done in (0, 1)),
    last_seq             integer not null check (last_seq >= 0),
    ready_for            text    not null check (ready_for in ('nothing', 'turns', 'rearm', 'resume')),
    ready_from           integer not null,
    usage_turns          integer not null check (usage_turns >= 0),
    usage_input_tokens   integer not null check (usage_input_tokens >= 0),
    usage_output_tokens  integer not null check (usage_output_tokens >= 0),
    usage_cost_microusd  integer not null check (usage_cost_microusd >= 0),
    created_at           integer not null,
    updated_at           integer not null,
    version              integer not null check (version >= 1),
    check (state = 'open' or ready_for = 'nothing')
) strict;

create index cards_ready on cards (ready_for, priority desc, ready_from, id) where ready_for <> 'nothing';
create index cards_recovery on cards (priority desc, ready_from, id) where recovery = 1;
create index cards_updated on cards (updated_at);

-- Which cards wait for which. A card never waits for itself, over any number of others.
create table card_dependencies (
    card_id  text not null references cards (id),
    after_id text not null references cards (id),
    primary key (card_id, after_id)
) strict, without rowid;

create index card_dependencies_after on card_dependencies (after_id);

create trigger card_dependencies_without_cycle before insert on card_dependencies
begin
    select raise(abort, 'a card cannot wait for itself')
    where new.after_id in (
        with recursive waiting (id) as (
            select new.card_id
            union
            select d.card_id from waiting join card_dependencies d on d.after_id = waiting.id
        )
        select id from waiting
    );
end;

create trigger card_dependencies_stay before update on card_dependencies
begin
    select raise(abort, 'a dependency is never changed');
end;

create table runs (
    id              text    not null primary key,
    card_id         text    not null references cards (id),
    kind            text    not null check (kind in ('launcher', 'owner', 'worker', 'issue')),
    parent_id       text    references runs (id),
    codebase_id     text    references codebases (id),
    model           text,
    effort          text,
    state           text    not null check (state in (
        'running', 'asked', 'finished', 'failed', 'stopped', 'interrupted', 'capped_turns', 'capped_wall', 'capped_spend',
        'capped_output', 'blocked', 'orphaned_clean', 'orphaned_dirty')),
    epoch           integer not null check (epoch >= 1),
    token           text    not null check (length(token) = 64),
    machine_id      text    not null,
    agent           text    not null,
    pid             integer,
    start_ticks     integer,
    boot_id         text,
    started_at      integer not null,
    resumed_at      integer,
    ended_at        integer,
    again_at        integer,
    failure         text,
    failed_because  text,
    failures_in_row integer not null check (failures_in_row >= 0),
    tries           integer not null check (tries >= 0),
    starts          integer not null check (starts >= 0),
    settled         integer not null check (settled between 0 and epoch),
    given           integer check (given >= 1),
    read_back       integer not null check (read_back in (0, 1)),
    handed_back_at  integer,
    fresh           integer not null check (fresh in (0, 1)),
    check (kind <> 'worker' or parent_id is not null),
    check (parent_id is not null or (given is null and read_back = 0)),
    check (read_back = 0 or ended_at is not null),
    check ((pid is null) = (start_ticks is null) and (pid is null) = (boot_id is null)),
    check ((state in ('running', 'asked')) = (ended_at is null)),
    check (again_at is null or state in ('failed', 'interrupted'))
) strict;

create index runs_card on runs (card_id);
create index runs_of_parent on runs (parent_id) where parent_id is not null;
-- What a decision about a card looks at, beside its owner.
create index runs_open on runs (card_id)
    where state in ('running', 'asked') or again_at is not null or pid is not null or (parent_id is not null and read_back = 0);
-- What counts as live, and what has a process to look for.
create index runs_process on runs (machine_id) where pid is not null or state = 'running';
create index runs_live_on_codebase on runs (codebase_id) where pid is not null or state = 'running';
create unique index runs_one_owner on runs (card_id) where kind = 'owner';
create unique index runs_one_live_launcher on runs (card_id) where kind = 'launcher' and state in ('running', 'asked');

create trigger runs_epoch_grows before update of epoch, token on runs
when new.epoch < old.epoch or (new.token <> old.token and new.epoch = old.epoch)
begin
    select raise(abort, 'the epoch of a run only grows, and each has one token');
end;

create trigger runs_parent_fits before insert on runs when new.parent_id is not null
begin
    select raise(abort, 'a worker is sent by the owner of its card, and an owner by a launcher of it')
    where not exists (
        select 1 from runs p
        where p.id = new.parent_id and p.card_id = new.card_id
          and (new.kind, p.kind) in (values ('worker', 'owner'), ('owner', 'launcher')));
end;

create trigger runs_stay_what_they_are before update of card_id, kind, parent_id on runs
when new.card_id <> old.card_id or new.kind <> old.kind or new.parent_id is not old.parent_id
begin
    select raise(abort, 'a run never changes its card, kind or parent');
end;

-- Epoch 0 is the brief, which the parent wrote; every other one is the report of that attempt.
create table run_texts (
    run_id text    not null references runs (id),
    epoch  integer not null check (epoch >= 0),
    body   text    not null,
    primary key (run_id, epoch)
) strict;

create trigger run_texts_stay before update on run_texts
begin
    select raise(abort, 'a text of a run is written once');
end;

create table turns (
    id          text    not null primary key,
    card_id     text    not null references cards (id),
    seq         integer not null check (seq >= 1),
    author_kind text    not null check (author_kind in ('person', 'agent', 'system')),
    author      text    check ((author is null) = (author_kind = 'system')),
    body        text    not null,
    state       text    not null check (state in ('pending', 'leased', 'settled')),
    run_id      text    references runs (id),
    said_at     integer not null,
    unique (card_id, seq),
    check (state <> 'leased' or run_id is not null),
    check (state <> 'pending' or run_id is null)
) strict;

create index turns_waiting on turns (card_id) where state in ('pending', 'leased');

create table asks (
    id               text    not null primary key,
    card_id          text    not null references cards (id),
    run_id           text    not null references runs (id),
    question         text    not null,
    choices          text    not null check (json_type(choices) = 'array'),
    offer            integer not null check (offer in (0, 1)),
    offer_message    text    check (offer = 1 or offer_message is null),
    addressee        text    not null check (addressee in ('person', 'parent')),
    state            text    not null check (state in ('open', 'accepted', 'answered', 'withdrawn')),
    answer           text,
    answered_by_kind text    check (answered_by_kind in ('person', 'agent', 'system')),
    answered_by      text,
    asked_at         integer not null,
    answered_at      integer,
    delivered        integer not null check (delivered in (0, 1)),
    given            integer,
    turn_id          text    references turns (id),
    check ((state = 'answered') = (answer is not null and answered_at is not null and answered_by_kind is not null))
) strict;

create index asks_card on asks (card_id);
create index asks_open on asks (asked_at) where state = 'open';

create table landings (
    id          text    not null primary key,
    card_id     text    not null references cards (id),
    codebase_id text    not null references codebases (id),
    ask_id      text    references asks (id),
    message     text,
    state       text    not null check (state in ('accepted', 'running', 'landed', 'conflict', 'verify_failed', 'refused')),
    epoch       integer not null check (epoch >= 0),
    token       text    check (length(token) = 64),
    machine_id  text    not null,
    accepted_by text    not null,
    accepted_at integer not null,
    commit_id   text    check ((commit_id is not null) = (state = 'landed')),
    result      text,
    ended_at    integer check ((ended_at is null) = (state in ('accepted', 'running'))),
    check (state <> 'running' or token is not null)
) strict;

create index landings_card on landings (card_id);
create index landings_accepted on landings (machine_id, accepted_at) where state = 'accepted';
create unique index landings_one_of_card on landings (card_id) where state in ('accepted', 'running');
create unique index landings_one_of_codebase on landings (codebase_id) where state = 'running';

create trigger landings_epoch_grows before update of epoch, token on landings
when new.epoch < old.epoch or (new.token is not old.token and new.epoch = old.epoch)
begin
    select raise(abort, 'the epoch of a landing only grows, and each has one token');
end;

-- One row an operation: inserted before anything is locked, and given its kind and result by the commit.
create table journal (
    operation_id text    not null primary key,
    machine_id   text    not null,
    kind         text    not null,
    result       text    not null check (json_valid(result)),
    at           integer not null
) strict;

create index journal_at on journal (at, operation_id);
