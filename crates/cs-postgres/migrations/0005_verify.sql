-- What a verify command said, on which branch and how a landing lands, and that a branch was published.
alter table landings add column method text check (method in ('merge', 'squash', 'rebase'));
alter table landings add column evidence text;
alter table landings drop constraint landings_state_check;
alter table landings add constraint landings_state_check check (state in (
    'accepted', 'running', 'landed', 'conflict', 'verify_failed', 'published', 'refused'));
-- No binary has written `verify_failed` before this step.
alter table landings add constraint landings_evidence_check check (
    (state <> 'verify_failed' or evidence is not null) and (evidence is null or state in ('landed', 'verify_failed')));

-- The base is what the person said, or that of the card; it is written with the row now.
drop trigger landings_have_the_base_of_their_card on landings;
drop function take_base_of_card();

create trigger landings_stay_on_their_base before update of base, method on landings
for each row when (new.base is distinct from old.base or new.method is distinct from old.method)
execute function refuse_row('a landing stays on the base for which it was accepted');

alter table cards add column landings_returned bigint not null default 0 check (landings_returned >= 0);
