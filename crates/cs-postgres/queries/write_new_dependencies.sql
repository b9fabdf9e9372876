-- Lets cards wait for others; it may be said twice.
insert into card_dependencies (
    card_id, after_id)
select * from unnest(
    $1::uuid[], $2::uuid[]) as w
on conflict do nothing
