-- Parks routes from a JSON array, each in the place of a park of the same route. As many rows must change as the array has.
insert into parked_routes (machine_id, agent, class, reason, since, until)
select
    value->>'machine_id', value->>'agent', value->>'class', value->>'reason', value->>'since', value->>'until'
from json_each(?)
where true
on conflict (machine_id, agent) do update set
    class = excluded.class, reason = excluded.reason, since = excluded.since, until = excluded.until
