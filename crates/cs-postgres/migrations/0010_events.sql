-- What happened, each with the transaction that wrote it. Transactions end in another order than they begin and than numbers are given, so
-- events are read in the order of their transactions, and only those of which every earlier one is over. What happened before this
-- step is not known.
create table events (
    id         bigint  not null primary key generated always as identity,
    era        integer not null check (era >= 0),
    xid        xid8    not null,
    card_id    uuid    not null references cards (id),
    run_id     uuid,
    epoch      bigint  check (epoch > 0),
    machine_id uuid,
    at         bigint  not null,
    kind       text    not null,
    details    text    not null
);

create index events_in_order on events (era, xid, id);
create index events_of_card on events (card_id, era, xid, id);

create trigger events_stay before update on events
for each row execute function refuse_row('what happened stays as it was written');

-- The era of what is written now. The number of a transaction says nothing on another server: one that this server has not given yet
-- came here with a copy of the record, and what is written from now on comes after everything that was copied.
create function event_era() returns integer language sql stable as $$
    select coalesce(max(e.era + (e.xid >= pg_snapshot_xmax(pg_current_snapshot()))::integer), 0)
    from (select l.era, l.xid from events l order by l.era desc, l.xid desc limit 1) e
$$;
