-- Inserts one file; its bytes are bound as they are. One row must change.
insert into attachments (id, card_id, name, media_type, size_bytes, sha256, person, at, content)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
