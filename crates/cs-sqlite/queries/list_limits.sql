-- Lists all limits, those of machines first. No row: there are none.
select kind, id, most, person, at from limits order by kind <> 'machine', id
