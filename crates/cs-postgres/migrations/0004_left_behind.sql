-- What of a run's process tree could not be ended, and since when: a mark beside its process, with which it goes. A binary that does
-- not know it takes it away with the process all the same.
alter table runs add column left_behind text;
alter table runs add column left_at bigint check ((left_at is null) = (left_behind is null));

create function take_mark_with_process() returns trigger language plpgsql as $$
begin
    new.left_behind := null;
    new.left_at := null;
    return new;
end
$$;

create trigger runs_mark_goes_with_the_process before update of pid on runs
for each row when (new.pid is null and new.left_at is not null) execute function take_mark_with_process();
