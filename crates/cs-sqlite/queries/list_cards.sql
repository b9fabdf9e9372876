-- Lists cards, the one that changed last first; with 0 only those that are not over. No row: there are none.
select c.* from cards c where ?1 or c.state not in ('landed', 'closed') order by c.updated_at desc, c.id desc
