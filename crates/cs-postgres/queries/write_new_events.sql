-- Writes events, in the order of their places.
insert into events (card_id, run_id, epoch, machine_id, at, kind, details, era, xid)
select w.card_id, w.run_id, w.epoch, w.machine_id, w.at, w.kind, w.details, n.era, pg_current_xact_id()
from unnest(
    $1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[], $5::bigint[], $6::text[], $7::text[],
    $8::bigint[]) as w (card_id, run_id, epoch, machine_id, at, kind, details, place), event_era() n (era)
order by w.place
