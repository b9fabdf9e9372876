-- Lists codebases by name. No row: there are none.
select id, name, created_at from codebases order by name
