//! Settlement policy: facts in, decision out.
//!
//! One table per question: does a failed attempt go on ([`retry`]), does a run speak to its card ([`who_speaks`]), is an
//! outcome an answer or an end ([`settle_as`]), what becomes of a working tree ([`tree_fate`]). Each is a pure function,
//! total over its enums, and has a test that prints the whole table.
//!
//! This crate must never know a database, a process, git or an agent program. It has no I/O; [`SettlementRecord`] is the
//! port behind which an embedder puts a store of its own.
#![warn(clippy::wildcard_enum_match_arm)]

mod record;
mod retry;
mod settle;
mod tree;

pub use record::{
    About, Answer, Answered, Capped, GaveUp, GiveUp, NewAsk, Offer, SettleError, SettlementRecord, Usage,
    Used,
};
pub use retry::{
    FinalCause, MAX_IN_ROW, MAX_STARTS, MAX_TRIES, NextSession, Retry, RetryFacts, counts_as_try, ending_of,
    final_reason, retry, retry_when_mended,
};
pub use settle::{Kind, SettleAs, SettleFacts, Start, Voice, settle_as, who_speaks};
pub use tree::{DiskSpace, TreeFacts, TreeFate, tree_fate};
