-- Ends a daemon's presence. No row changed: another holds the machine, or nobody.
with clock as (select coalesce($3, record_now()) as now)
update machines m set present_until = clock.now from clock
where m.id = $1 and m.daemon = $2 and m.present_until > clock.now
