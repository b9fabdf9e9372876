-- Lists the open asks to people with the titles of their cards, oldest first. Always one row.
select coalesce(json_agg(json_build_object('ask', row_to_json(a), 'title', c.title) order by a.asked_at, a.id), '[]')::text
from asks a join cards c on c.id = a.card_id where a.state = 'open' and a.addressee = 'person'
