-- Finds the place of the last event that can be read. No row: there is none.
select json_build_object('id', e.id, 'era', e.era, 'xid', e.xid::text, 'at', e.at)::text
from events e, event_era() n (era)
where e.era < n.era or e.xid < pg_snapshot_xmin(pg_current_snapshot())
order by e.era desc, e.xid desc, e.id desc limit 1
