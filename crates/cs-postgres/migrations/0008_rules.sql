-- What people want all agents to keep to: read at each start of an agent.
create table standing_rules (
    id          uuid   not null primary key,
    codebase_id uuid   references codebases (id),
    body        text   not null check (length(body) >= 1),
    version     bigint not null check (version between 1 and 4294967295),
    person      text   not null,
    created_at  bigint not null,
    updated_at  bigint not null
);
