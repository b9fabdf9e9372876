//! The port through which work is taken from the record, and the receipts that it gives.

use std::fmt;

use async_trait::async_trait;
use cs_fence::{Attempt, LandingAttempt, TokenSeed};
use cs_model::{
    AskId, CardId, CodebaseId, Epoch, IdSource, LandingId, MachineId, OperationId, RunId, RunKind, Time,
    TurnId,
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
    /// Work that a person wants tried on a route that is parked.
    TakeRecovery,
    /// Accepted landings of cards whose tree this machine has.
    TakeLandings,
    /// One run that failed or was cut short.
    Resume,
    /// One owner that has turns, an answer, or children to read back.
    ActivateOwner,
    /// A child of a run that works.
    Dispatch,
}

impl Action {
    /// Holds every action.
    pub const ALL: &'static [Self] = &[
        Self::TakeTurns,
        Self::TakeRearms,
        Self::TakeResumes,
        Self::TakeRecovery,
        Self::TakeLandings,
        Self::Resume,
        Self::ActivateOwner,
        Self::Dispatch,
    ];

    /// Returns the text under which a record stores the action.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TakeTurns => "take_turns",
            Self::TakeRearms => "take_rearms",
            Self::TakeResumes => "take_resumes",
            Self::TakeRecovery => "take_recovery",
            Self::TakeLandings => "take_landings",
            Self::Resume => "resume",
            Self::ActivateOwner => "activate_owner",
            Self::Dispatch => "dispatch",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One run, as its machine last saw it: a claim of it takes nothing when it has gone on since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The run.
    pub run: RunId,
    /// The epoch of its last attempt.
    pub after: Epoch,
}

/// A child that a run wants at work: an owner for a launcher, a worker for an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// The attempt that sends it.
    pub parent: Attempt,
    /// The codebase of an owner; a worker has that of its card.
    pub codebase: Option<CodebaseId>,
    /// The model, as its harness names it.
    pub model: Option<String>,
    /// The effort, as its harness names it.
    pub effort: Option<String>,
    /// What it is sent to do: 1 byte to 1 MiB. It is not kept in the ledger: a claim whose answer was lost is confirmed or
    /// cancelled, never sent again.
    #[serde(skip)]
    pub brief: String,
}

/// Which work a claim takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Cards with waiting turns.
    Turns,
    /// Runs that asked and have what they waited for.
    Rearms,
    /// Runs that failed or were cut short and may go on.
    Resumes,
    /// Whatever is ready on cards that a person wants tried although their route is parked, and nothing else.
    Recovery,
    /// Accepted landings.
    Landings,
    /// This run, which failed or was cut short: a retry by the daemon that saw it end, or by one that found it.
    Resume(Target),
    /// This owner, whatever it is ready for.
    Activate(Target),
    /// This child.
    Child(Child),
}

impl Task {
    /// Returns the kind of claim.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Turns => Action::TakeTurns,
            Self::Rearms => Action::TakeRearms,
            Self::Resumes => Action::TakeResumes,
            Self::Recovery => Action::TakeRecovery,
            Self::Landings => Action::TakeLandings,
            Self::Resume(_) => Action::Resume,
            Self::Activate(_) => Action::ActivateOwner,
            Self::Child(_) => Action::Dispatch,
        }
    }
}

/// What a machine asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRequest {
    /// Which work.
    pub task: Task,
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
    pub fn one(task: Task, agent: impl Into<String>, seed: TokenSeed) -> Self {
        Self {
            task,
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
    /// A run sent it.
    Dispatched,
    /// A question of one of its children, to settle.
    Question(AskId),
    /// All its children have ended, and these are to be read back.
    Children(Vec<RunId>),
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
    /// The model that was chosen for it, as that agent names it; nothing leaves it to the agent.
    #[serde(default)]
    pub model: Option<String>,
    /// How much that is to think, the same.
    #[serde(default)]
    pub effort: Option<String>,
    /// The codebase it works on.
    pub codebase: Option<CodebaseId>,
    /// Whether the attempt begins a new conversation of the agent program, and forgets a former one.
    #[serde(default)]
    pub fresh: bool,
}

impl ClaimedRun {
    /// Returns the row of the first attempt of a new owner on a new card, which was just sent to work without a codebase.
    #[must_use]
    pub fn first(ids: &dyn IdSource, agent: impl Into<String>, started_at: Time) -> Self {
        Self {
            run: RunId::fresh(ids),
            card: CardId::fresh(ids),
            kind: RunKind::Owner,
            epoch: Epoch::new(1),
            started_at,
            resumed_at: None,
            woke: Woke::Dispatched,
            agent: agent.into(),
            model: None,
            effort: None,
            codebase: None,
            fresh: false,
        }
    }

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
    /// Why a child was not sent. Then nothing was taken and nothing is kept.
    #[serde(skip)]
    pub refused: Option<DispatchRefusal>,
}

/// Why a run cannot send a child. Nothing was written, and nothing of it runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DispatchRefusal {
    /// The attempt that sends is not current, or its run does not run any more.
    #[error("the run that sends it is over: no agent was started, end your work")]
    ParentOver,
    /// A worker sends nobody.
    #[error("a worker cannot send an agent: no agent was started, do the work yourself or ask")]
    TooDeep,
    /// The conversation has its owner.
    #[error("the conversation has its owner already: no agent was started, end your turn, it carries on")]
    HasOwner,
    /// The machine may not have that codebase.
    #[error("this machine has no checkout of that codebase: no agent was started, name another or ask")]
    NoCodebase,
    /// New work is closed.
    #[error("new work is paused: no agent was started, end your turn with your question or go on yourself")]
    Paused,
    /// Every slot that a limit leaves is taken.
    #[error(
        "every free place is taken: no agent was started, wait for one of yours to end or go on yourself"
    )]
    NoSlot,
    /// The brief is empty or too long.
    #[error("a brief has 1 byte to {limit_bytes} bytes, this one has {bytes}: no agent was started")]
    BadBrief {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
}

impl Receipt {
    /// Returns the receipt of a claim that took these runs and nothing else.
    #[must_use]
    pub fn of_runs(runs: impl IntoIterator<Item = ClaimedRun>) -> Self {
        Self {
            runs: runs.into_iter().collect(),
            ..Self::default()
        }
    }

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

impl Reconciled {
    /// Says what became of an operation of which a store keeps the receipt; nothing: it was cancelled.
    #[must_use]
    pub fn of(action: Action, kept: Option<Receipt>) -> Self {
        kept.map_or(Self::Cancelled, |receipt| Self::Completed { action, receipt })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use cs_model::{SystemClock, SystemIds};

    #[test]
    fn a_store_says_in_few_words_what_it_keeps() {
        let at = cs_model::Clock::now(&SystemClock);
        let (one, other) = (
            ClaimedRun::first(&SystemIds, "mine", at),
            ClaimedRun::first(&SystemIds, "mine", at),
        );
        assert_ne!((one.run, one.card), (other.run, other.card));
        assert_eq!((one.epoch, one.resumed_at), (Epoch::new(1), None));
        let receipt = Receipt::of_runs([one, other]);
        assert_eq!((receipt.runs.len(), receipt.landings.len()), (2, 0));
        let action = Action::Dispatch;
        assert_eq!(Reconciled::of(action, None), Reconciled::Cancelled);
        let said = Reconciled::of(action, Some(receipt.clone()));
        assert_eq!(said, Reconciled::Completed { action, receipt });
    }
}
