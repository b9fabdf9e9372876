//! What can go wrong.

use std::fmt;
use std::io;
use std::path::PathBuf;

use cs_fence::Attempt;
use cs_model::OperationId;

use crate::{Action, ClaimError};

/// An event that the present state does not allow. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{subject} is {state}, so `{event}` cannot follow")]
pub struct IllegalTransition {
    /// What the event is about.
    pub subject: String,
    /// Where that is.
    pub state: &'static str,
    /// The event.
    pub event: &'static str,
}

/// Why the ledger could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another process has it open.
    #[error("another process works with the ledger {}, and only one may: stop that one first", .path.display())]
    Locked {
        /// The ledger.
        path: PathBuf,
    },
    /// The file is no ledger, or its first bytes are damaged. It was not touched.
    #[error("{} is no ledger of cs-panel, or its first bytes are damaged: move it away to begin a new one", .path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
    },
    /// Something else than a file lies there. It was not touched.
    #[error("{} is a directory, and a ledger is a file: move it away to begin a new ledger", .path.display())]
    IsADirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The operating system does not let this user at the ledger.
    #[error("cannot {op} {}: the user who runs cs-panel must own it and be able to read and write it", .path.display())]
    Denied {
        /// What was tried.
        op: &'static str,
        /// On which file.
        path: PathBuf,
        /// The refusal.
        #[source]
        source: io::Error,
    },
    /// A newer program wrote the file. It was not touched.
    #[error("the ledger {} has version {version}, this program knows versions up to {known}: use the newer program", .path.display())]
    Newer {
        /// The ledger.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// An intact event says something that this program does not know. The file was not touched.
    #[error(
        "the event `{event}` at byte {offset} of the ledger (version {version}) is unknown to this program: use the newer program that wrote it"
    )]
    UnknownEvent {
        /// The version of the file.
        version: u32,
        /// Where the event begins, in bytes.
        offset: u64,
        /// What the event calls itself.
        event: String,
        /// What could not be read.
        #[source]
        source: serde_json::Error,
    },
    /// The intact events of the file contradict each other. The file was not touched.
    #[error(
        "the event at byte {offset} of the ledger contradicts those before it: move the file away to begin a new one, into which this machine's runs are taken from the record"
    )]
    Contradiction {
        /// Where the event begins, in bytes.
        offset: u64,
        /// What was refused.
        #[source]
        source: IllegalTransition,
    },
    /// The event cannot follow in the present state; a fault of the caller. Nothing was written.
    #[error("the step is not possible")]
    Illegal(#[from] IllegalTransition),
    /// Another attempt of the same run may still run on this machine. Nothing was written; the step may be made when that one is
    /// over.
    #[error(
        "attempt {attempt} cannot be prepared while attempt {other} of the same run is {stage} here: end that one first"
    )]
    StillRuns {
        /// The attempt that was to be prepared.
        attempt: Attempt,
        /// The other one.
        other: Attempt,
        /// Where that is.
        stage: &'static str,
    },
    /// The event is larger than the ledger takes. Nothing was written.
    #[error("an event of {bytes} bytes is larger than the ledger takes ({limit})")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// There is no room for the event. Nothing was written; the same step may be tried again when there is room.
    #[error("there is no room on the disk for the ledger: make room, and the step is made again")]
    Full(#[source] io::Error),
    /// A former write failed in a way that leaves the end of the file in doubt; nothing more is written by this process.
    #[error("the ledger could not be put right after a failed write: start the program again")]
    Broken,
    /// The operating system refused something. Nothing was written.
    #[error("cannot {op} {}", .path.display())]
    Io {
        /// What was tried.
        op: &'static str,
        /// On which file.
        path: PathBuf,
        /// The refusal.
        #[source]
        source: io::Error,
    },
}

/// A step that is not durable, so that it has not happened: the state is given back, and the step may be tried again.
#[derive(Debug, thiserror::Error)]
#[error("the ledger did not take the step")]
pub struct NotDurable<S: fmt::Debug> {
    /// The state as it still is. Dropping it leaves it in the ledger, from where `recover` gives it again.
    pub state: Box<S>,
    /// Why.
    #[source]
    pub error: LedgerError,
}

impl<S: fmt::Debug> From<NotDurable<S>> for LedgerError {
    fn from(refused: NotDurable<S>) -> Self {
        refused.error
    }
}

/// Why a claim or its reconciliation gave nothing. The operation is still pending in the ledger, unless its intent could
/// not be written ([`Ledger`](Self::Ledger) from `claim`, when nothing was sent).
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The record did not answer, or not with success.
    #[error("operation {operation} ({action}) has no answer")]
    Record {
        /// The operation.
        operation: OperationId,
        /// What it was to take.
        action: Action,
        /// The record's error.
        #[source]
        source: ClaimError,
    },
    /// The record's journal holds another action under this id; nothing may be started (CJ-4).
    #[error("operation {operation} was sent as {asked}, but the record knows it as {stored}")]
    AnotherAction {
        /// The operation.
        operation: OperationId,
        /// What was asked for.
        asked: Action,
        /// What the record says.
        stored: Action,
    },
    /// The record answered with work and then said that the operation is cancelled; nothing may be started.
    #[error("operation {operation} was answered with work, and then called cancelled")]
    Contradicted {
        /// The operation.
        operation: OperationId,
    },
    /// The confirmed result cannot be what the claim took; nothing of it may be started (CJ-5, CJ-6).
    #[error("the result of operation {operation} is not usable: {fault}")]
    BadReceipt {
        /// The operation.
        operation: OperationId,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The ledger did not take the step.
    #[error("the ledger did not take the step")]
    Ledger(#[from] LedgerError),
}
