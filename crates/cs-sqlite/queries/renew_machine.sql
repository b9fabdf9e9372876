-- Renews the presence of a daemon that says what it said before. No row changed: it says something new, or does not hold the machine.
update machines set seen_at = ?6, present_until = ?7
where
    id = ?1 and name = ?2 and person = ?3 and boot_id = ?4 and daemon = ?5 and serves_everyone = ?8
    and not exists (
        select 1 from machine_codebases c
        where c.machine_id = ?1 and c.codebase_id not in (select value from json_each(?9)))
    and not exists (
        select 1 from codebases b
        where b.id in (select value from json_each(?9))
          and not exists (select 1 from machine_codebases c where c.machine_id = ?1 and c.codebase_id = b.id))
