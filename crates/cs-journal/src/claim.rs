//! The port through which work is taken from the record, and the receipts that it gives.

use std::fmt;

use async_trait::async_trait;
use cs_fence::{Attempt, LandingAttempt, TokenSeed};
use cs_model::{
    AskId, CardId, CodebaseId, Epoch, LandingId, MachineId, OperationId, RunId, RunKind, Time, TurnId,
};
use serde::{Deserialize, Serialize};

/// Which kind of work a claim takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Waiting turns, with the run that is to answer them.
    TakeTurns,
    /// Runs that asked and have what they waited for.
    TakeRearms,
    /// Runs that failed or were cut short and may go on.
    TakeResumes,
    /// Accepted landings of cards whose tree this machine has.
    TakeLandings,
}

impl Action {
    /// Holds every action.
    pub const ALL: &'static [Self] = &[
        Self::TakeTurns,
        Self::TakeRearms,
        Self::TakeResumes,
        Self::TakeLandings,
    ];

    /// Returns the text under which a record stores the action.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TakeTurns => "take_turns",
            Self::TakeRearms => "take_rearms",
            Self::TakeResumes => "take_resumes",
            Self::TakeLandings => "take_landings",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a machine asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRequest {
    /// Which kind of work.
    pub action: Action,
    /// How many pieces at most: the machine's free slots. Nothing is claimed in order to wait.
    pub limit: u32,
    /// The routes that this machine can drive, by name. Landings do not look at them.
    pub agents: Vec<String>,
    /// The secret from which the tokens of what is taken follow. It stays on this machine: a record keeps hashes only.
    pub seed: TokenSeed,
}

impl ClaimRequest {
    /// Asks for one piece of work that this agent can do.
    #[must_use]
    pub fn one(action: Action, agent: impl Into<String>, seed: TokenSeed) -> Self {
        Self {
            action,
            limit: 1,
            agents: vec![agent.into()],
            seed,
        }
    }
}

/// What woke a run, and so what its prompt is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Woke {
    /// These turns, in their order.
    Turns(Vec<TurnId>),
    /// The answer to its own question; for an offer also the result of its landing.
    Answer(AskId),
    /// Its last attempt failed; the same turns and answers are still its work.
    Retry,
    /// Its last attempt was cut short through no fault of its own.
    Interrupted,
}

/// A run that a claim took: ids, kinds, epoch and times, no bodies. What it is to say is read after the claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedRun {
    /// The run.
    pub run: RunId,
    /// Its card.
    pub card: CardId,
    /// What job it does.
    pub kind: RunKind,
    /// The epoch of the attempt that the claim made.
    pub epoch: Epoch,
    /// When the run was first started.
    pub started_at: Time,
    /// When this attempt began, if it is not the first.
    pub resumed_at: Option<Time>,
    /// What woke it.
    pub woke: Woke,
    /// The route that is to run it.
    pub agent: String,
    /// The codebase it works on.
    pub codebase: Option<CodebaseId>,
}

impl ClaimedRun {
    /// Returns the attempt that the claim with this seed made.
    #[must_use]
    pub fn attempt(&self, seed: &TokenSeed) -> Attempt {
        Attempt {
            run: self.run,
            epoch: self.epoch,
            token: seed.for_run(self.run, self.epoch),
        }
    }
}

/// A landing that a claim took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedLanding {
    /// The landing.
    pub landing: LandingId,
    /// Its card.
    pub card: CardId,
    /// The codebase whose base is to move.
    pub codebase: CodebaseId,
    /// The epoch of the landing that the claim made.
    pub epoch: Epoch,
}

impl ClaimedLanding {
    /// Returns the attempt that the claim with this seed made.
    #[must_use]
    pub fn attempt(&self, seed: &TokenSeed) -> LandingAttempt {
        LandingAttempt {
            landing: self.landing,
            epoch: self.epoch,
            token: seed.for_landing(self.landing, self.epoch),
        }
    }
}

/// The result of a claim, as the record's journal keeps it and gives it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The runs that were taken, each with a new attempt.
    pub runs: Vec<ClaimedRun>,
    /// The landings that were taken.
    pub landings: Vec<ClaimedLanding>,
}

impl Receipt {
    /// Says whether nothing was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.landings.is_empty()
    }
}

/// What became of an operation, once and for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciled {
    /// It was carried out.
    Completed {
        /// What it did.
        action: Action,
        /// What it took.
        receipt: Receipt,
    },
    /// It was not carried out, and never will be: a copy that still travels is refused (CJ-10).
    Cancelled,
}

/// Why a claim has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The operation was cancelled before; it can never take anything.
    #[error("operation {0} was cancelled, it can never take anything")]
    Cancelled(OperationId),
    /// The id of the operation is too old or from the future.
    #[error(
        "operation {operation} was made at {made_at} by this machine's clock, but the record's clock says {now}: set the machine's clock right"
    )]
    ClockApart {
        /// The operation.
        operation: OperationId,
        /// When its id was made.
        made_at: Time,
        /// The record's present time.
        now: Time,
    },
    /// The record cannot be reached, or its answer was lost. Whether the claim took anything is unknown.
    #[error("the record is away")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The record holds something that cannot be; the claim took nothing.
    #[error("the record is corrupt: {0}")]
    Corrupt(String),
}

/// Takes work from the record. One call is one transaction that also writes the operation's journal row (CJ-11).
#[async_trait]
pub trait ClaimRecord: fmt::Debug + Send + Sync {
    /// Takes up to `limit` pieces of ready work for a machine.
    ///
    /// The same operation id gives the first result again and takes nothing more (CJ-12). An operation that took nothing
    /// leaves no row. Any error but [`Cancelled`](ClaimError::Cancelled), [`ClockApart`](ClaimError::ClockApart) and
    /// [`Corrupt`](ClaimError::Corrupt) leaves it unknown whether something was taken: reconcile (CJ-7).
    ///
    /// # Errors
    /// [`ClaimError`] as said.
    async fn claim(
        &self,
        machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError>;

    /// Confirms an operation, or fences it: if it was not carried out it is cancelled for ever, also while its request is
    /// still on the way. Every call gives the same answer (CJ-10).
    ///
    /// An operation that was carried out and took nothing left no row, and is cancelled: the same thing for the caller.
    ///
    /// # Errors
    /// [`ClaimError`] when the record cannot answer.
    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError>;
}
