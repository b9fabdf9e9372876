-- Reads a file of a card and what is in it. No row: it is not there.
select row_to_json(h)::text, a.content from attachments a join attachment_heads h on h.id = a.id where a.id = $1
