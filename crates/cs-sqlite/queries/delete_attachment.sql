-- Takes one file away. One row must change.
delete from attachments where id = ?
