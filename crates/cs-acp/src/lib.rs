//! Leads the dialogue with an agent that speaks the [Agent Client Protocol](https://agentclientprotocol.com), version 1.
//!
//! Every other agent reads its prompt and talks; these have to be led: greeted, given a session, asked, answered. A bridge does
//! that: it runs in the execution in the agent's place, reads one start line, starts the agent as its child, and prints events as
//! `cs-harness` knows them. It holds no state that matters: the daemon can come and go, as with any agent.
//!
//! ```text
//! start line ──► bridge ──► initialize, session/new | resume | load, model, session/prompt ──► agent
//! events     ◄── bridge ◄── session/update, session/request_permission, the end of the turn ◄── agent
//! ```
//!
//! The dialogue is a pure state machine; only [`run`] touches processes. The few messages that are needed
//! are written down here: the protocol's own crate brings an asynchronous framework of its own and four major versions in five
//! months. It knows no card, no record and no daemon.
//!
//! Limits: [`LINE_MAX_BYTES`](cs_harness::LINE_MAX_BYTES) for a line of the agent; a longer one is left out and told of.
//! [`UNREAD_MAX_BYTES`](cs_harness::UNREAD_MAX_BYTES) of answers that it does not read, after which it is given up. What 1000 tool calls are about, in
//! 4 MiB. Each answer before the prompt has to come within [`Spec::answer_within`]; how long the prompt itself may take is the caller's.

mod command;
mod dialogue;
mod lines;
mod opened;
mod permission;
mod prompted;
#[cfg(test)]
mod recorded;
mod run;
mod start;
mod tools;
mod update;
mod usage;
mod wire;

pub use run::{AcpError, Spec, run};
