-- After parts/take.sql: reads the agents of a machine whose route is parked now. No row: none.
select agent from parked
