-- Ends parks of the routes in a JSON array. Fewer rows changed than it has: the others were not parked.
delete from parked_routes
where (machine_id, agent) in (select value->>'machine_id', value->>'agent' from json_each(?1))
