-- Ends parks that were there when an attempt began.
delete from parked_routes k using unnest($1::uuid[], $2::text[], $3::bigint[]) as w (machine_id, agent, began_at)
where k.machine_id = w.machine_id and k.agent = w.agent and k.since <= w.began_at
