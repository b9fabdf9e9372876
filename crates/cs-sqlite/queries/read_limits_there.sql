-- After parts/take.sql: reads what limits the work on each codebase that a machine has. No row: it has none.
select codebase_id, pause, free from there
