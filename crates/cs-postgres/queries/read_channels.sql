-- Names the channel of this record, and one that nobody else ever listens to. Always one row.
select record_channel(), 'cs_panel_probe_' || md5(random()::text || clock_timestamp()::text)
