-- Reads the version of the schema, and from which version on a binary can use it. No row: this is no record.
select version, usable_from from cs_panel_version
