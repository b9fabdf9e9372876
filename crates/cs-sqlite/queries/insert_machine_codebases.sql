-- Says that a machine has codebases; those that are not on the record are left out.
insert into machine_codebases (machine_id, codebase_id)
select ?1, c.id from codebases c where c.id in (select value from json_each(?2))
on conflict do nothing
