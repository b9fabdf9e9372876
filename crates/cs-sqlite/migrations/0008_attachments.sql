-- Files that people gave to the agents of a card. What is in one comes last: whoever reads the rest does not read it.
create table attachments (
    id         text    not null primary key,
    card_id    text    not null references cards (id),
    name       text    not null check (length(cast(name as blob)) between 1 and 255),
    media_type text    not null,
    size_bytes integer not null check (size_bytes = length(content) and size_bytes <= 20971520),
    sha256     text    not null check (length(sha256) = 64),
    person     text    not null,
    at         integer not null,
    content    blob    not null,
    unique (card_id, name)
) strict;

create trigger attachments_stay before update on attachments
begin
    select raise(abort, 'an attachment is written once');
end;
