-- Lists how the landing stands that was accepted last, for each of these cards that has one. No row: none has.
select l.card_id, l.state from landings l
where l.card_id in (select value from json_each(?1))
  and not exists (
    select 1 from landings n where n.card_id = l.card_id and (n.accepted_at, n.id) > (l.accepted_at, l.id))
