//! The claim journal: exactly-once claims over a durable local ledger.
#![warn(clippy::wildcard_enum_match_arm)]

mod claim;

pub use claim::{
    Action, ClaimError, ClaimRecord, ClaimRequest, ClaimedLanding, ClaimedRun, Receipt, Reconciled, Woke,
};
