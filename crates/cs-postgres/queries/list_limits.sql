-- Lists the limits, those of machines first. Always one row.
select coalesce(json_agg(l order by l.kind desc, l.id), '[]')::text from limits l
