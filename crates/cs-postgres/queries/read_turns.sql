-- Reads turns of a card after a place, in order. No row: the card is not on the record.
select coalesce((
    select json_agg(s order by s.seq)
    from (select t.* from turns t where t.card_id = c.id and t.seq > $2 order by t.seq limit $3) s), '[]')::text
from cards c where c.id = $1
