-- What never goes back. A rule that would take it back is wrong, and so is whoever writes past the rules. The conditions are part
-- of the triggers, so that a write that keeps them calls nothing.
create function refuse_row() returns trigger language plpgsql as $$
begin
    raise exception '% in %: %', old.id, tg_table_name, tg_argv[0] using errcode = 'check_violation';
end
$$;

create trigger runs_live_again_under_a_new_epoch before update of state on runs
for each row when (
    old.state <> 'running' and new.state <> old.state and new.state in ('running', 'asked') and new.epoch = old.epoch
) execute function refuse_row('a run that has asked or ended is at work again only under a new epoch');

-- This stands for a lease of the working tree: the tree is free once the process is.
create trigger runs_one_attempt_at_a_time before update of epoch on runs
for each row when (
    new.epoch > old.epoch and (old.state = 'running' or old.pid is not null)
) execute function refuse_row('a run gets a new epoch only when its attempt is over and its process proven gone');

create trigger runs_settlements_stay before update of settled, read_back on runs
for each row when (
    new.settled < old.settled or (old.read_back and not new.read_back and new.epoch = old.epoch)
) execute function refuse_row('what a run has settled, and that it was read back, stays until its next epoch');

create trigger turns_stay_where_they_are before update of state, run_id on turns
for each row when (
    (old.state = 'settled' and (new.state <> 'settled' or new.run_id is distinct from old.run_id))
    or (old.state = 'leased' and new.run_id <> old.run_id)
) execute function refuse_row('a settled turn stays settled, and one that a run holds goes to no other');

create trigger asks_answers_stay
before update of state, answer, answered_by_kind, answered_by, answered_at, delivered on asks
for each row when (
    old.state = 'answered' and (
        (new.state, new.answer, new.answered_by_kind, new.answered_by, new.answered_at)
            is distinct from (old.state, old.answer, old.answered_by_kind, old.answered_by, old.answered_at)
        or (old.delivered and not new.delivered))
) execute function refuse_row('an answer that was given stays, and so does that it was delivered');

create trigger landings_end_once before update of state on landings
for each row when (
    (old.ended_at is not null and new.state <> old.state)
    or (new.state = 'running' and old.state <> 'running' and new.epoch = old.epoch)
) execute function refuse_row('a landing runs again only under a new epoch, and never once it is over');

-- One landing at a time for each base of a codebase, no more for the codebase. The base is that of the card, which never changes; a
-- binary that does not know the column writes rows that have it.
alter table landings add column base text;
update landings l set base = c.base from cards c where c.id = l.card_id;

create function take_base_of_card() returns trigger language plpgsql as $$
begin
    new.base := (select c.base from cards c where c.id = new.card_id);
    return new;
end
$$;

create trigger landings_have_the_base_of_their_card before insert on landings
for each row execute function take_base_of_card();

drop index landings_one_of_codebase;
create unique index landings_one_of_base on landings (codebase_id, coalesce(base, '')) where state = 'running';

-- The landings that their machines may take now: of each base of a codebase that has none running the first that was accepted.
create or replace view takeable_landings as
select l.* from landings l
where l.state = 'accepted'
  and not exists (
        select 1 from landings r
        where r.codebase_id = l.codebase_id and r.base is not distinct from l.base and r.state = 'running')
  and not exists (
        select 1 from landings e
        where e.codebase_id = l.codebase_id and e.base is not distinct from l.base and e.state = 'accepted'
          and e.machine_id = l.machine_id and (e.accepted_at, e.id) < (l.accepted_at, l.id))
  and not exists (select 1 from runs r where r.card_id = l.card_id and r.pid is not null)
  and not exists (
        select 1 from pauses p
        where p.kind = 'pause'
          and (p.scope = 'everything' or p.machine_id = l.machine_id or p.codebase_id = l.codebase_id));
