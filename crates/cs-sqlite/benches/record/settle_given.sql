-- Settles what else an attempt was given, the answers to its questions (?1: card, ?2: run, ?3: epoch) and the children that it read
-- back, and opens its route (?4: machine, ?5: agent, ?6: when it began).
update asks set delivered = 1 where card_id = ?1 and run_id = ?2 and given = ?3 and state = 'answered';
update runs set read_back = 1 where parent_id = ?2 and given = ?3 and ended_at is not null and again_at is null;
delete from parked_routes where machine_id = ?4 and agent = ?5 and since <= ?6
