//! The claim journal: exactly-once claims over a durable local ledger.
//!
//! A [`Journal`] takes work from a [`ClaimRecord`] so that no lost request, lost answer or crash can take it twice or lose
//! it: the intent is durable before the request leaves, the record confirms or fences it, and from then on each attempt
//! has exactly one owner on the disk until it is over. In the process that owner is a value whose type says where the
//! attempt is, so that most illegal orders do not compile:
//!
//! ```text
//! Claimed -> Prepared -> Registered -> Started -> Settling -> Acknowledged -> closed
//!    |          |            |           |
//!    +----------+------------+-----------+--> InterruptReceipt  -> acknowledged
//!    +----------+------------+--------------> FailedPreparation -> acknowledged
//!    +----------+------------+--------------> void
//! LandingClaimed -> LandingWorking (steps) -> LandingDone -> acknowledged
//! ```
//!
//! ```compile_fail,E0599
//! fn without_a_registered_shim(claimed: cs_journal::Claimed) {
//!     let _ = claimed.started("pid 7");
//! }
//! ```
//!
//! ```compile_fail,E0382
//! fn twice(settling: cs_journal::Settling) {
//!     let _ = settling.acknowledged();
//!     let _ = settling.acknowledged();
//! }
//! ```
//!
//! After a crash [`Journal::open`] and [`Journal::recover`] give back the same values. What an execution or an outcome is,
//! this crate does not know: it keeps the daemon's own texts.
//!
//! It must never know a database, a process, git or an agent program; its only I/O is one append-only file. Limits: one
//! event has at most 16 MiB, and the whole file is read at the start (it is compacted as it grows).
#![warn(clippy::wildcard_enum_match_arm)]

mod claim;
mod confirm;
mod error;
mod event;
mod frame;
mod holds;
mod journal;
mod ledger;
mod owner;
#[cfg(test)]
mod sample;
mod state;
mod window;

pub use claim::{
    Action, Child, ClaimError, ClaimRecord, ClaimRequest, ClaimedLanding, ClaimedRun, DispatchRefusal,
    Receipt, Reconciled, Target, Task, Woke,
};
pub use error::{IllegalTransition, JournalError, LedgerError, NotDurable};
pub use journal::{Deps, Journal, Want};
pub use ledger::{LedgerOpened, Opening, SetAside};
pub use owner::{
    Acknowledged, AtAcknowledgement, AtClaim, AtExecution, AtFailure, AtLandingClaim, AtLandingResult,
    AtLandingWork, AtOutcome, AtPreparation, AtReceipt, AtRegistration, Claimed, FailedPreparation, Held,
    HeldLanding, InterruptReceipt, LandingClaimed, LandingDone, LandingWorking, Prepared, Recovered,
    Registered, Settling, Started,
};
pub use window::Window;

/// The journal without its file and its clock: what the ledger says as a fold over events, and who holds what of it.
///
/// This is what [`Journal`] itself runs. It is public so that a checker can visit every state that it can come to; a program
/// that takes work uses the journal.
pub mod pure {
    pub use crate::confirm::confirmed;
    pub use crate::event::{Event, LandingEvent, RunEvent};
    pub use crate::holds::Holds;
    pub use crate::state::{
        Execution, LandingEntry, LandingKey, LandingStage, LedgerState, RunEntry, RunKey, Stage,
    };
}
