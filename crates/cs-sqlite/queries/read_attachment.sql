-- Reads a file of a card and what is in it. No row: it is not there.
select id, card_id, name, media_type, size_bytes, sha256, person, at, content from attachments where id = ?1
