-- Ends parks of the routes in a JSON array that are not younger than it says. Fewer rows changed than it has: the others were not parked.
delete from parked_routes
where exists (
    select 1 from json_each(?) w
    where w.value->>'machine_id' = parked_routes.machine_id and w.value->>'agent' = parked_routes.agent
      and (w.value->>'began_at' is null or w.value->>'began_at' >= parked_routes.since))
