-- Takes files of cards away.
delete from attachments where id = any ($1)
