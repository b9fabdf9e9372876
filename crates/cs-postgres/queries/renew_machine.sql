-- Renews the presence of a daemon that says what it said before. No row changed: it says something new, or does not hold the machine.
with clock as (select coalesce($6, record_now()) as now)
update machines m set seen_at = clock.now, present_until = clock.now + $7
from clock
where
    m.id = $1 and m.name = $2 and m.person = $3 and m.boot_id = $4 and m.daemon = $5 and m.serves_everyone = $8
    and not exists (select 1 from machine_codebases c where c.machine_id = $1 and c.codebase_id <> all ($9::uuid[]))
    and not exists (
        select 1 from codebases b
        where b.id = any ($9)
          and not exists (select 1 from machine_codebases c where c.machine_id = $1 and c.codebase_id = b.id))
