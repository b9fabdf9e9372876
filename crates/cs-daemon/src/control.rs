//! The daemon's control socket: how a command tells a running daemon that something changed, or asks it to stop a card.

mod client;
mod server;
mod wire;

pub use client::{ControlError, Poked, Stopped, poke, stop};
pub use server::Request;
pub(crate) use server::serve;
