-- Writes turns that are new, with their words.
insert into turns (
    id, card_id, seq, author_kind, author, body, state, run_id, said_at)
select * from unnest(
    $1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::uuid[], $9::bigint[]) as w
