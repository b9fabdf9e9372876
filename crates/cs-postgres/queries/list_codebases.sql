-- Lists codebases by name. Always one row.
select coalesce(json_agg(b order by b.name), '[]')::text from codebases b
