-- Writes the version of the schema. One row must change.
insert into cs_panel_version (version, usable_from, migrated_at) values ($1, $2, record_now())
on conflict (only_row) do update
set version = excluded.version, usable_from = excluded.usable_from, migrated_at = excluded.migrated_at
