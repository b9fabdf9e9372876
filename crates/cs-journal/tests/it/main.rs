//! The claim protocol and its recovery, through the public interface and a record that loses things.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic")]

mod claims;
mod exactly_once;
mod fake;
mod landings;
mod restarts;
