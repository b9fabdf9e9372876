-- Finds cards by the last digits of their id, or by the first of its last eight, which are those that are shown. No row: none fits.
select id from cards
where replace(id, '-', '') like '%' || ?1 or substr(replace(id, '-', ''), 25) like ?1 || '%'
order by id limit 10
