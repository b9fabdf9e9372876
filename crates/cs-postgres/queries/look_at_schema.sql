-- Says whether our mark is in the current schema, and whether any table is. Always one row.
select
    exists (select 1 from pg_tables t where t.schemaname = current_schema() and t.tablename = 'cs_panel_version') as ours,
    exists (select 1 from pg_tables t where t.schemaname = current_schema()) as tables
