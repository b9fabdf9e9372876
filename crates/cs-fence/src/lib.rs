//! Attempt identity and fencing: what makes sure that a stale attempt can never write.
//!
//! An attempt is `(run, epoch, token)`. The record stores the token's hash; every write that belongs to an attempt
//! carries all three, is decided under the card's lock by [`judge`], and repeats the fence in its statement. Epoch *and*
//! token must match, so that a record restored from a backup refuses attempts that are newer than it.
//!
//! This crate must never know a database, a process or git. It has no I/O; [`AttemptRecord`] is the port behind which
//! an embedder puts a store of its own.
#![warn(clippy::wildcard_enum_match_arm)]

mod attempt;
mod fenced;
mod record;

pub use attempt::{Attempt, LandingAttempt, ParseTokenError, Token, TokenHash, TokenSeed};
pub use fenced::{FenceRow, Fenced, Standing, Verdict, judge};
pub use record::{AttemptRecord, FenceError, InterruptOutcome, Interruption, ProcessFact};
