-- Writes a machine's presence. One row must change.
with clock as (select coalesce($6, record_now()) as now)
update machines m set
    name = $2, person = $3, boot_id = $4, daemon = $5, seen_at = clock.now, present_until = clock.now + $7, serves_everyone = $8
from clock where m.id = $1
