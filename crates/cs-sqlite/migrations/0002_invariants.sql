-- What never goes back. A rule that would take it back is wrong, and so is whoever writes past the rules.

create trigger runs_live_again_under_a_new_epoch before update of state on runs
when old.state <> 'running' and new.state <> old.state and new.state in ('running', 'asked') and new.epoch = old.epoch
begin
    select raise(abort, 'a run that has asked or ended is at work again only under a new epoch');
end;

-- This stands for a lease of the working tree: the tree is free once the process is.
create trigger runs_one_attempt_at_a_time before update of epoch on runs
when new.epoch > old.epoch and (old.state = 'running' or old.pid is not null)
begin
    select raise(abort, 'a run gets a new epoch only when its attempt is over and its process proven gone');
end;

create trigger runs_settlements_stay before update of settled, read_back on runs
when new.settled < old.settled or (new.read_back < old.read_back and new.epoch = old.epoch)
begin
    select raise(abort, 'what a run has settled, and that it was read back, stays until its next epoch');
end;

create trigger turns_stay_where_they_are before update of state, run_id on turns
when (old.state = 'settled' and (new.state <> 'settled' or new.run_id is not old.run_id))
  or (old.state = 'leased' and new.run_id <> old.run_id)
begin
    select raise(abort, 'a settled turn stays settled, and one that a run holds goes to no other');
end;

create trigger asks_answers_stay before update of state, answer, answered_by_kind, answered_by, answered_at, delivered on asks
when old.state = 'answered' and (
    new.state <> 'answered' or new.answer is not old.answer or new.answered_by_kind is not old.answered_by_kind
    or new.answered_by is not old.answered_by or new.answered_at is not old.answered_at or new.delivered < old.delivered)
begin
    select raise(abort, 'an answer that was given stays, and so does that it was delivered');
end;

create trigger landings_end_once before update of state on landings
when (old.ended_at is not null and new.state <> old.state)
  or (new.state = 'running' and old.state <> 'running' and new.epoch = old.epoch)
begin
    select raise(abort, 'a landing runs again only under a new epoch, and never once it is over');
end;

-- One landing at a time for each base of a codebase, no more for the codebase. The base is that of the card, which never changes.
alter table landings add column base text;
update landings set base = (select c.base from cards c where c.id = landings.card_id);

create trigger landings_have_the_base_of_their_card after insert on landings
begin
    update landings set base = (select c.base from cards c where c.id = new.card_id) where id = new.id;
end;

drop index landings_one_of_codebase;
create unique index landings_one_of_base on landings (codebase_id, coalesce(base, '')) where state = 'running';
