-- After parts/take.sql: reads what limits a machine as a whole. Always one row.
select pause, free, only_person from here
