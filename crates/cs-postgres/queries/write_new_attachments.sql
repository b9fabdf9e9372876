-- Writes files that are new.
insert into attachments (
    id, card_id, name, media_type, size_bytes, sha256, person, at, content)
select * from unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bigint[], $9::bytea[]) as w
