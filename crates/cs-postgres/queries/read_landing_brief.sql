-- Reads a landing and its card, in one snapshot. No row: it is not on the record.
select json_build_object('landing', row_to_json(l), 'card', row_to_json(c))::text
from landings l join cards c on c.id = l.card_id where l.id = $1
