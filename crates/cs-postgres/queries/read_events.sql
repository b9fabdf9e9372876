-- Reads events after a place, in order, those that every earlier one comes before for good. One row.
select json_build_object(
    'known', $1::integer is null or exists (
        select from events k
        where k.era = $1 and k.xid = $2::text::xid8 and k.id = $3::bigint and k.at = $4::bigint),
    'events', coalesce((
        select json_agg(
            json_build_object(
                'id', s.id, 'era', s.era, 'xid', s.xid::text, 'card_id', s.card_id, 'run_id', s.run_id, 'epoch', s.epoch,
                'machine_id', s.machine_id, 'at', s.at, 'kind', s.kind, 'details', s.details)
            order by s.era, s.xid, s.id)
        from (
            select e.* from events e, event_era() n (era)
            where (e.era, e.xid, e.id) > (coalesce($1, 0), coalesce($2, '0')::xid8, coalesce($3, 0))
              and (e.era < n.era or e.xid < pg_snapshot_xmin(pg_current_snapshot()))
            order by e.era, e.xid, e.id limit $5::bigint) s), '[]'))::text
