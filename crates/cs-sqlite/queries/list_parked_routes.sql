-- Lists the parked routes of a machine, also those whose time is over. No row: none.
select machine_id, agent, class, reason, since, until from parked_routes where machine_id = ?1 order by agent
