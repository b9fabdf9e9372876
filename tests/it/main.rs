//! End-to-end tests: the real binary, a real database file, real processes and real git.

mod attachments;
mod away;
mod bridge;
mod configured;
mod contained;
mod conversation;
mod crashes;
mod crowd;
mod desk;
mod gone;
mod history;
mod http_tools;
mod landing;
mod left_behind;
mod limits;
mod pauses;
mod plans;
mod probes;
mod push;
mod real_agents;
mod record;
mod rules;
mod sandbox;
#[cfg(feature = "bwrap-tests")]
mod sandboxed;
mod scenarios;
mod secrets;
mod shortage;
mod stops;
mod storm;
mod tools;
mod train;
mod trees;
mod used;
mod verify;
mod whole_way;
