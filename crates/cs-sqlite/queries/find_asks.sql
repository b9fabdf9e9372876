-- Finds asks by the last digits of their id. No row: none fits.
select id from asks where replace(id, '-', '') like '%' || ?1 order by id limit 10
