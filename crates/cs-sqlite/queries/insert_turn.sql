-- Inserts one turn; its words are bound as they are. One row must change.
insert into turns (id, card_id, seq, author_kind, author, body, state, run_id, said_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
