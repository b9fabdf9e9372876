-- What people want all agents to keep to: read at each start of an agent.
create table standing_rules (
    id          text    not null primary key,
    codebase_id text    references codebases (id),
    body        text    not null check (length(cast(body as blob)) between 1 and 65536),
    version     integer not null check (version between 1 and 4294967295),
    person      text    not null,
    created_at  integer not null,
    updated_at  integer not null
) strict;
