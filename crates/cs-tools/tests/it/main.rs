//! The tools through both ends of the bridge, with a host in memory.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "a daemon and a bridge that are ended in the middle are tasks"
)]

mod agent;
mod bridge;
mod calls;
mod fuzz;
mod handshake;
mod host;
mod http;
mod refused;
mod web;
