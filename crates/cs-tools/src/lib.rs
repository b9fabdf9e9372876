//! The tools that an agent calls: to ask, to say how far it is, to offer its work, to look at what is its own.
//!
//! An agent outlives the daemon, so its tools do: what it starts is a [bridge](serve) that runs in the agent's own tree, holds no state,
//! and carries each call to the [door](Door) of whichever daemon lives. Who calls is known by the execution (a token, and the tree that
//! the peer's process belongs to), never by what the caller says. A call has a name, and every act of the [`Host`] is under an id made
//! from attempt and name, so that the same call again, after a crash before or after the effect, is one effect and one answer.
//!
//! ```text
//! agent ── stdio (MCP) ──► bridge ── a line of JSON over a Unix socket ──► Door ──────┐
//! agent ── HTTP (MCP) on the loopback, for those that start no server ──► HttpDoor ──┴► Tools ──► Host ──► the record
//! ```
//!
//! Limits: 1 MiB for a message to the daemon; 16 calls of an attempt at once; what each tool takes is in its schema ([`catalog`]).

mod bridge;
mod call;
mod door;
mod handler;
mod host;
mod http;
mod mcp;
mod name;
mod patience;
mod tool;
mod tools;
mod wire;

pub use bridge::{Bridge, BridgeError, Dial, serve};
pub use call::{Answer, BadCallId, Call, CallId, Caller};
pub use door::{Attempted, Connection, Door, Peer, Peers, Sockets};
pub use handler::{Outcome, Tools};
pub use host::{Host, HostError, Offer, Question, Shown, Standing};
pub use http::{HttpDoor, Registered};
pub use tool::ToolSpec;
pub use tools::catalog;
