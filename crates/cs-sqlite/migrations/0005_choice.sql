-- The model that a person chose for a card, and how much that is to think.
alter table cards add column model text;
alter table cards add column effort text;
