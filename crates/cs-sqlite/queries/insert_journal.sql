-- Begins an operation. No row changed: its id is on the record already.
insert into journal (operation_id, machine_id, kind, result, at) values (?1, ?2, ?3, 'null', ?4)
on conflict (operation_id) do nothing
