-- Lists the files of a card without what is in them, as they were attached. No row: it has none.
select id, card_id, name, media_type, size_bytes, sha256, person, at from attachments where card_id = ?1 order by at, name
