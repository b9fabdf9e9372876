//! The events that the ledger holds: the wire between two lives of this program.
//!
//! Fields are only added, and an added field may be missing. A change that an older program must not overlook gets a new
//! version of the file's header.

use cs_fence::{Attempt, LandingAttempt};
use cs_model::{Epoch, LandingId, OperationId, RunId, Time};
use serde::{Deserialize, Serialize};

use crate::{ClaimRequest, ClaimedLanding, ClaimedRun, Receipt};

/// One durable fact. State is the fold over them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A request to take work is about to leave (CJ-2).
    ClaimBegun {
        /// The operation.
        operation: OperationId,
        /// What it asks for.
        request: ClaimRequest,
    },
    /// The record has confirmed what an operation took; each attempt now has an owner of its own.
    ClaimRecorded {
        /// The operation.
        operation: OperationId,
        /// What it took.
        receipt: Receipt,
    },
    /// The record has fenced an operation: it took nothing and never will.
    ClaimCancelled {
        /// The operation.
        operation: OperationId,
    },
    /// This machine owns an attempt without a claim in this file: it was imported, or a compaction kept it.
    RunKept {
        /// The row that the claim gave, or that the record has.
        row: ClaimedRun,
        /// The attempt.
        attempt: Attempt,
        /// The operation that took it; nothing when it was imported.
        operation: Option<OperationId>,
    },
    /// Something happened to an attempt of a run.
    Run {
        /// The run.
        run: RunId,
        /// The attempt.
        epoch: Epoch,
        /// What happened.
        did: RunEvent,
    },
    /// This machine owns a landing without a claim in this file.
    LandingKept {
        /// The row that the claim gave.
        row: ClaimedLanding,
        /// The life of the landing.
        attempt: LandingAttempt,
        /// The operation that took it.
        operation: Option<OperationId>,
    },
    /// Something happened to a landing.
    Landing {
        /// The landing.
        landing: LandingId,
        /// Its life.
        epoch: Epoch,
        /// What happened.
        did: LandingEvent,
    },
    /// A run has this native session from now on.
    SessionKnown {
        /// The run.
        run: RunId,
        /// The agent program's name for the conversation.
        session: String,
    },
    /// The native session of a run is of no use any more.
    SessionForgotten {
        /// The run.
        run: RunId,
    },
    /// An attempt is about to be given a secret.
    SecretGiven {
        /// The run.
        run: RunId,
        /// The attempt.
        epoch: Epoch,
        /// Which: the daemon's own words, never the value.
        secret: String,
    },
    /// All unended runs that the record gives to this machine are in this file (RC-4).
    Imported,
    /// Bytes at the end of this file could not be read and were put aside, so that facts may be missing.
    TailLost {
        /// How many.
        bytes: u64,
    },
}

/// What happened to an attempt of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum RunEvent {
    /// Its execution directory has this name; nothing runs yet.
    Prepared {
        /// The directory.
        dir: String,
    },
    /// This process holds its execution, without the prompt.
    Registered {
        /// The process.
        shim: String,
    },
    /// The agent has its prompt.
    Started {
        /// The agent's process.
        agent: String,
    },
    /// It ended with this outcome, which the record does not have yet. A second one replaces the first.
    Outcome {
        /// The outcome.
        outcome: String,
        /// The native session in which the run can go on.
        session: Option<String>,
    },
    /// The record has what was to be told.
    Acknowledged,
    /// Its execution is proven closed and accounted for.
    Closed,
    /// It could not be started.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was cut short; the report carries this id.
    Interrupted {
        /// The id of the report.
        operation: OperationId,
        /// When.
        at: Time,
    },
    /// Nothing of it runs, and it is not the current attempt any more.
    Void,
}

/// What happened to a landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum LandingEvent {
    /// A step is about to be made or has been made; the daemon's own words.
    Step {
        /// The words.
        step: String,
    },
    /// It is over with this result, which the record does not have yet.
    Result {
        /// The words.
        result: String,
    },
    /// The record has the result.
    Acknowledged,
    /// Nothing was done, and it is not this machine's any more.
    Void,
}

impl Event {
    /// Returns the event's name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ClaimBegun { .. } => "claim_begun",
            Self::ClaimRecorded { .. } => "claim_recorded",
            Self::ClaimCancelled { .. } => "claim_cancelled",
            Self::RunKept { .. } => "run_kept",
            Self::Run { did, .. } => did.name(),
            Self::LandingKept { .. } => "landing_kept",
            Self::Landing { did, .. } => did.name(),
            Self::SessionKnown { .. } => "session_known",
            Self::SessionForgotten { .. } => "session_forgotten",
            Self::SecretGiven { .. } => "secret_given",
            Self::Imported => "imported",
            Self::TailLost { .. } => "tail_lost",
        }
    }
}

impl RunEvent {
    /// Returns the event's name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Prepared { .. } => "prepared",
            Self::Registered { .. } => "registered",
            Self::Started { .. } => "started",
            Self::Outcome { .. } => "outcome",
            Self::Acknowledged => "acknowledged",
            Self::Closed => "closed",
            Self::Failed { .. } => "failed",
            Self::Interrupted { .. } => "interrupted",
            Self::Void => "void",
        }
    }
}

impl LandingEvent {
    /// Returns the event's name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Step { .. } => "step",
            Self::Result { .. } => "result",
            Self::Acknowledged => "acknowledged",
            Self::Void => "void",
        }
    }
}
