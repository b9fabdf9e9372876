-- Names the channel of this record. Always one row.
select record_channel()
