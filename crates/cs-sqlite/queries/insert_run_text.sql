-- Inserts one brief or report; its words are bound as they are. One row must change.
insert into run_texts (run_id, epoch, body) values (?, ?, ?)
