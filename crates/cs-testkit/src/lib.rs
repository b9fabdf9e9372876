//! The memory store, fakes and laws: for the tests of cs-panel and of those who embed it.
//!
//! [`MemoryStore`] runs the rules of cs-record over maps and is as strict as the strictest database. [`laws`] are promises of the
//! record's ports, each a function; [`record_conformance!`] makes a test of each for one store.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod bench;
mod clock;
mod ids;
pub mod laws;
mod memory;
mod secrets;

pub use clock::SetClock;
pub use ids::SeededIds;
pub use memory::{MemoryStore, Rows};
pub use secrets::MemorySecrets;
