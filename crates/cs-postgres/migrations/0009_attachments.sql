-- Files that people gave to the agents of a card.
create table attachments (
    id         uuid   not null primary key,
    card_id    uuid   not null references cards (id),
    name       text   not null collate "C" check (length(name) between 1 and 510),
    media_type text   not null,
    size_bytes bigint not null check (size_bytes = octet_length(content) and size_bytes <= 20971520),
    sha256     text   not null check (length(sha256) = 64),
    person     text   not null,
    at         bigint not null,
    content    bytea  not null,
    unique (card_id, name)
);

create trigger attachments_stay before update on attachments
for each row execute function refuse_row('an attachment is written once');

-- The files without what is in them.
create view attachment_heads as
select id, card_id, name, media_type, size_bytes, sha256, person, at from attachments;
