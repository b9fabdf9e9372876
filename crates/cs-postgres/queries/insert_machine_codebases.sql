-- Says that a machine has codebases; those that are not on the record are left out.
insert into machine_codebases (machine_id, codebase_id)
select $1, b.id from codebases b where b.id = any ($2::uuid[])
on conflict do nothing
