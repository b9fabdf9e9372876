-- Lists the runs of a card, oldest first. No row: it was never taken.
select r.* from runs r where r.card_id = ?1 order by r.started_at, r.id
