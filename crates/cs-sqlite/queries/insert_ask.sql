-- Inserts one ask; its words are bound as they are. One row must change.
insert into asks (
    id, card_id, run_id, question, choices, offer, offer_message, addressee, state, answer, answered_by_kind,
    answered_by, asked_at, answered_at, delivered, given, turn_id)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
