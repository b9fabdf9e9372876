-- What of a run's process tree could not be ended, and since when: a mark beside its process, with which it goes.
alter table runs add column left_behind text;
alter table runs add column left_at integer check ((left_at is null) = (left_behind is null) and (left_at is null or pid is not null));
