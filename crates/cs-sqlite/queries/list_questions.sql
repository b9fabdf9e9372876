-- Lists the open questions of a run's children that one attempt of it is to settle, oldest first. No row: there are none.
select a.* from asks a join runs r on r.id = a.run_id
where a.card_id = ?1 and a.state = 'open' and a.addressee = 'parent' and a.given = ?3 and r.parent_id = ?2
order by a.asked_at, a.id
