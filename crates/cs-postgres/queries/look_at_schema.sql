-- Says whether our mark is in the current schema, whether any table is, and whether there is a schema at all that this user may
-- see. Always one row.
select
    exists (select 1 from pg_tables t where t.schemaname = current_schema() and t.tablename = 'cs_panel_version') as ours,
    exists (select 1 from pg_tables t where t.schemaname = current_schema()) as tables,
    current_schema() is not null as has_schema
