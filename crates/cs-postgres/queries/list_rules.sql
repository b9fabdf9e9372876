-- Lists the standing rules: those for all, then those of codebases, each as they were made. Always one row.
select coalesce(json_agg(s order by s.codebase_id nulls first, s.created_at, s.id), '[]')::text from standing_rules s
