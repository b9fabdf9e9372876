-- Inserts one ask; its words are bound as they are. One row must change.
insert into asks (
    id, card_id, run_id, question, choices, offer, offer_message, addressee, state, answer, answered_by_kind,
    answered_by, asked_at, answered_at, delivered, given, turn_id)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
