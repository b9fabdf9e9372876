-- Writes briefs and reports that are new.
insert into run_texts (
    run_id, epoch, body)
select * from unnest(
    $1::uuid[], $2::bigint[], $3::text[]) as w
