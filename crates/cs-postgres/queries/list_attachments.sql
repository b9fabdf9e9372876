-- Lists the files of a card without what is in them, as they were attached. No row: the card is not on the record.
select coalesce((select json_agg(a order by a.at, a.name) from attachment_heads a where a.card_id = c.id), '[]')::text
from cards c where c.id = $1
