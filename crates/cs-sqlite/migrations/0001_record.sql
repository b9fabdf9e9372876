-- The record: one row a card, and what belongs to it. Times are microseconds since 1970-01-01 UTC, ids are UUID texts,
-- token hashes are hexadecimal. The constraints say once more what the rules hold.

create table codebases (
    id         text    not null primary key,
    name       text    not null unique check (length(name) between 1 and 100),
    created_at integer not null
) strict;

create table machines (
    id            text    not null primary key,
    name          text    not null,
    person        text    not null,
    boot_id       text    not null,
    daemon        text    not null check (length(daemon) = 64),
    seen_at       integer not null,
    present_until integer not null
) strict;

-- Which codebases a machine has a checkout of. A command may say so before the machine's daemon was ever there.
create table machine_codebases (
    machine_id  text not null,
    codebase_id text not null references codebases (id),
    primary key (machine_id, codebase_id)
) strict, without rowid;

create table pauses (
    scope      text    not null primary key,
    machine_id text    check ((machine_id is null) = (scope = 'everything')),
    reason     text,
    person     text    not null,
    at         integer not null
) strict;

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
    last_seq             integer not null check (last_seq >= 0),
    ready_for            text    not null check (ready_for in ('nothing', 'turns', 'rearm', 'resume')),
    ready_from           integer not null,
    tries                integer not null check (tries >= 0),
    starts               integer not null check (starts >= 0),
    usage_turns          integer not null check (usage_turns >= 0),
    usage_input_tokens   integer not null check (usage_input_tokens >= 0),
    usage_output_tokens  integer not null check (usage_output_tokens >= 0),
    usage_cost_microusd  integer not null check (usage_cost_microusd >= 0),
    created_at           integer not null,
    updated_at           integer not null,
    version              integer not null check (version >= 1),
    check (state = 'open' or ready_for = 'nothing')
) strict;

create index cards_ready on cards (ready_for, ready_from) where ready_for <> 'nothing';
create index cards_updated on cards (updated_at);

create table runs (
    id              text    not null primary key,
    card_id         text    not null references cards (id),
    kind            text    not null check (kind in ('launcher', 'owner', 'worker', 'issue')),
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
    check ((pid is null) = (start_ticks is null) and (pid is null) = (boot_id is null)),
    check ((state in ('running', 'asked')) = (ended_at is null)),
    check (again_at is null or state in ('failed', 'interrupted'))
) strict;

create index runs_card on runs (card_id);
create index runs_process on runs (machine_id) where pid is not null or state = 'running';
create unique index runs_one_live on runs (card_id, kind) where kind in ('launcher', 'owner') and state in ('running', 'asked');

create trigger runs_epoch_grows before update of epoch, token on runs
when new.epoch < old.epoch or (new.token <> old.token and new.epoch = old.epoch)
begin
    select raise(abort, 'the epoch of a run only grows, and each has one token');
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
    result       text    not null,
    at           integer not null
) strict;
