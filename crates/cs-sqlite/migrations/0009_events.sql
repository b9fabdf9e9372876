-- What happened, in the order in which it was written. A number is never used twice. What happened before this step is not known.
create table events (
    number     integer primary key autoincrement,
    card_id    text    not null references cards (id),
    run_id     text,
    epoch      integer check (epoch > 0),
    machine_id text,
    at         integer not null,
    kind       text    not null,
    details    text    not null
) strict;

create index events_of_card on events (card_id, number);

create trigger events_stay before update on events
begin
    select raise(abort, 'what happened stays as it was written');
end;
