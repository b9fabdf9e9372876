-- What a verify command said, on which branch and how a landing lands, and that a branch was published. A check cannot be changed: the
-- table is made anew. Nothing refers to it.
create table landings_now (
    id          text    not null primary key,
    card_id     text    not null references cards (id),
    codebase_id text    not null references codebases (id),
    ask_id      text    references asks (id),
    message     text,
    state       text    not null check (state in (
        'accepted', 'running', 'landed', 'conflict', 'verify_failed', 'published', 'refused')),
    epoch       integer not null check (epoch >= 0),
    token       text    check (length(token) = 64),
    machine_id  text    not null,
    accepted_by text    not null,
    accepted_at integer not null,
    commit_id   text    check ((commit_id is not null) = (state = 'landed')),
    result      text,
    ended_at    integer check ((ended_at is null) = (state in ('accepted', 'running'))),
    base        text,
    method      text    check (method in ('merge', 'squash', 'rebase')),
    evidence    text    check (json_valid(evidence)),
    check (state <> 'running' or token is not null),
    check (state <> 'verify_failed' or evidence is not null),
    check (evidence is null or state in ('landed', 'verify_failed'))
) strict;

-- No binary has written `verify_failed` before this step.
insert into landings_now (
    id, card_id, codebase_id, ask_id, message, state, epoch, token, machine_id, accepted_by, accepted_at, commit_id, result,
    ended_at, base)
select
    id, card_id, codebase_id, ask_id, message, state, epoch, token, machine_id, accepted_by, accepted_at, commit_id, result,
    ended_at, base
from landings;

drop table landings;
alter table landings_now rename to landings;

create index landings_card on landings (card_id);
create index landings_accepted on landings (machine_id, accepted_at) where state = 'accepted';
create unique index landings_one_of_card on landings (card_id) where state in ('accepted', 'running');
create unique index landings_one_of_base on landings (codebase_id, coalesce(base, '')) where state = 'running';

create trigger landings_epoch_grows before update of epoch, token on landings
when new.epoch < old.epoch or (new.token is not old.token and new.epoch = old.epoch)
begin
    select raise(abort, 'the epoch of a landing only grows, and each has one token');
end;

create trigger landings_end_once before update of state on landings
when (old.ended_at is not null and new.state <> old.state)
  or (new.state = 'running' and old.state <> 'running' and new.epoch = old.epoch)
begin
    select raise(abort, 'a landing runs again only under a new epoch, and never once it is over');
end;

create trigger landings_stay_on_their_base before update of base, method on landings
when new.base is not old.base or new.method is not old.method
begin
    select raise(abort, 'a landing stays on the base for which it was accepted');
end;

alter table cards add column landings_returned integer not null default 0 check (landings_returned >= 0);
