//! The inner port: rows, locks and transactions, without a rule.

use std::collections::BTreeSet;
use std::fmt;

use async_trait::async_trait;
use cs_fence::{InterruptOutcome, TokenHash};
use cs_journal::{Action, Receipt};
use cs_model::{
    AskId, CardId, CodebaseId, LandingId, MachineId, OperationId, Person, RunId, Time, TurnId, TurnSeq,
};
use serde::{Deserialize, Serialize};

use crate::{
    Aggregate, Ask, CardDetail, CardFilter, CardSummary, Codebase, LandingBrief, Pause, PauseScope, Peeked,
    Present, ReadyFor, Run, RunBrief, Turn, Writes,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Which cards to lock, and which row beside the open ones the command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Select {
    /// Cards that are ready for this kind of work, that this machine may have, by the time from which they are ready; it never
    /// waits for a lock.
    Ready {
        /// The kind of work.
        what: ReadyFor,
        /// The machine that takes.
        machine: MachineId,
        /// The routes that it drives.
        agents: Vec<String>,
        /// How many at most.
        limit: u32,
    },
    /// Cards with an accepted landing that this machine is to carry out: the first accepted of each codebase that has none
    /// running, in the order of acceptance; it never waits for a lock.
    Landings {
        /// The machine that takes.
        machine: MachineId,
        /// How many at most.
        limit: u32,
    },
    /// The cards of these runs.
    Runs(Vec<RunId>),
    /// One card.
    Card(CardId),
    /// One card, and the turn when it has it.
    Turn(CardId, TurnId),
    /// The card of this ask.
    Ask(AskId),
    /// One card, and the landing when it has it.
    CardLanding(CardId, LandingId),
    /// The card of this landing.
    Landing(LandingId),
}

/// The rows beside the card that a take must respect, locked before the cards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Whether a pause covers the machine.
    pub paused: bool,
    /// The codebases that the machine has.
    pub codebases: BTreeSet<CodebaseId>,
}

/// What was read under the locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The record's time, also when nothing was locked.
    pub now: Time,
    /// Limits of the taking machine; empty for other selections.
    pub limits: Limits,
    /// The locked cards, in the order of the selection.
    pub cards: Vec<Aggregate>,
}

/// A transaction with its locks held.
#[derive(Debug)]
pub struct Locked<Tx> {
    /// The transaction.
    pub tx: Tx,
    /// What was read.
    pub facts: Facts,
}

/// What `lock` found.
#[derive(Debug)]
pub enum Lock<Tx> {
    /// The locks are held.
    Held(Locked<Tx>),
    /// The operation id is on the record already: this is its row. No transaction is open.
    Journaled(JournalRow),
}

/// What an operation did, once and for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEntry {
    /// It took work.
    Claimed {
        /// How.
        action: Action,
        /// What.
        receipt: Receipt,
    },
    /// It reported interruptions.
    Interrupted(Vec<(RunId, InterruptOutcome)>),
    /// It was fenced before it came.
    Cancelled,
}

/// A journal row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRow {
    /// The operation.
    pub operation: OperationId,
    /// The machine that began it.
    pub machine: MachineId,
    /// What it did.
    pub entry: JournalEntry,
}

/// The text under which interruptions are journaled; the actions of claims have texts of their own.
const INTERRUPT: &str = "interrupt";
const CANCELLED: &str = "cancelled";

#[derive(Serialize, Deserialize)]
struct StoredInterruption {
    run: RunId,
    outcome: String,
}

impl JournalEntry {
    /// Returns the text that a store keeps as the kind of the entry.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Claimed { action, .. } => action.as_str(),
            Self::Interrupted(_) => INTERRUPT,
            Self::Cancelled => CANCELLED,
        }
    }

    /// Returns the JSON text that a store keeps as the result: ids, kinds, epochs and times, no bodies.
    ///
    /// # Errors
    /// Never for values that the rules make.
    pub fn to_json(&self) -> Result<String, StoreError> {
        let json = match self {
            Self::Claimed { receipt, .. } => serde_json::to_string(receipt),
            Self::Interrupted(outcomes) => {
                let rows: Vec<_> = outcomes.iter().map(StoredInterruption::from).collect();
                serde_json::to_string(&rows)
            }
            Self::Cancelled => Ok("null".to_owned()),
        };
        json.map_err(|error| StoreError::Corrupt(format!("a journal result cannot be written: {error}")))
    }

    /// Reads what a store kept.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a kind or result that this binary does not know.
    pub fn from_stored(kind: &str, json: &str) -> Result<Self, StoreError> {
        let corrupt =
            |why: &dyn fmt::Display| StoreError::Corrupt(format!("journal row of kind `{kind}`: {why}"));
        match kind {
            CANCELLED => Ok(Self::Cancelled),
            INTERRUPT => {
                let rows: Vec<StoredInterruption> =
                    serde_json::from_str(json).map_err(|error| corrupt(&error))?;
                let outcomes = rows.iter().map(StoredInterruption::read).collect::<Option<_>>();
                outcomes
                    .map(Self::Interrupted)
                    .ok_or_else(|| corrupt(&"unknown outcome"))
            }
            _ => {
                let action = Action::ALL.iter().copied().find(|action| action.as_str() == kind);
                let action = action.ok_or_else(|| corrupt(&"unknown action"))?;
                let receipt = serde_json::from_str(json).map_err(|error| corrupt(&error))?;
                Ok(Self::Claimed { action, receipt })
            }
        }
    }
}

const OUTCOMES: [(InterruptOutcome, &str); 4] = [
    (InterruptOutcome::Interrupted, "interrupted"),
    (InterruptOutcome::AlreadyInterrupted, "already_interrupted"),
    (InterruptOutcome::Continued, "continued"),
    (InterruptOutcome::Stale, "stale"),
];

impl From<&(RunId, InterruptOutcome)> for StoredInterruption {
    fn from((run, outcome): &(RunId, InterruptOutcome)) -> Self {
        let text = match outcome {
            InterruptOutcome::Interrupted => OUTCOMES[0].1,
            InterruptOutcome::AlreadyInterrupted => OUTCOMES[1].1,
            InterruptOutcome::Continued => OUTCOMES[2].1,
            InterruptOutcome::Stale => OUTCOMES[3].1,
        };
        Self {
            run: *run,
            outcome: text.to_owned(),
        }
    }
}

impl StoredInterruption {
    fn read(&self) -> Option<(RunId, InterruptOutcome)> {
        let known = OUTCOMES.iter().find(|(_, text)| *text == self.outcome);
        known.map(|(outcome, _)| (self.run, *outcome))
    }
}

/// Why a store has no result. After any of them nothing was written, except after `Unknown`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another transaction was faster; the same call may succeed now.
    #[error("lost a race for the same rows")]
    Conflict,
    /// A constraint or a counted write refused what the rules decided, or a stored value does not decode.
    #[error("{0}")]
    Corrupt(String),
    /// The commit was sent and its answer lost: whether it happened is unknown.
    #[error("the answer to a commit was lost")]
    Unknown(#[source] BoxError),
    /// The database cannot be reached or written now.
    #[error("the database cannot be used now")]
    Away(#[source] BoxError),
}

/// What a registration of presence or of a name met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered<T> {
    /// It is written.
    Written(T),
    /// Another has it; nothing was written. Holds when that one was last seen or made.
    Taken(Time),
}

/// Rows of the record, cut at the card: a store locks and loads whole aggregates and commits whole rows, in a number of
/// statements that does not grow with the number of cards. It holds no rule.
#[async_trait]
pub trait RowStore: fmt::Debug + Send + Sync + 'static {
    /// A transaction whose locks are held. Dropping it rolls it back.
    type Tx: Send;

    /// Begins a transaction: inserts the journal row when there is an operation (a conflict returns the stored row and opens
    /// nothing), locks the limits, then the cards, and only then loads what belongs to them.
    ///
    /// # Errors
    /// [`StoreError`]; no transaction is open then.
    async fn lock(
        &self,
        operation: Option<(MachineId, OperationId)>,
        select: &Select,
    ) -> Result<Lock<Self::Tx>, StoreError>;

    /// Writes everything and commits. Every change repeats what it was decided on, and the changed rows are counted.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when a row was not as it was read; nothing is written then.
    async fn commit(&self, tx: Self::Tx, writes: &Writes) -> Result<(), StoreError>;

    /// Ends a transaction without a trace; the journal row goes with it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn rollback(&self, tx: Self::Tx) -> Result<(), StoreError>;

    /// Confirms an operation or fences it, atomically: inserts a cancelled row unless there is one, and returns the row.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<JournalRow, StoreError>;

    /// Says in one statement what a machine could take.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, StoreError>;

    /// Reads a run.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn run(&self, run: RunId) -> Result<Option<Run>, StoreError>;

    /// Reads a run and what it is to work on, in one snapshot.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn run_brief(&self, run: RunId) -> Result<Option<(Run, RunBrief)>, StoreError>;

    /// Reads a landing and its card.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn landing_brief(&self, landing: LandingId) -> Result<Option<LandingBrief>, StoreError>;

    /// Lists the runs of a machine that are running or have a process on the record, by id.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn machine_runs(&self, machine: MachineId) -> Result<Vec<Run>, StoreError>;

    /// Lists the cards whose id ends with these hexadecimal digits (lower case, no hyphens), by id, at most 10.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn cards_ending(&self, digits: &str) -> Result<Vec<CardId>, StoreError>;

    /// Lists the asks whose id ends with these digits, the same way.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn asks_ending(&self, digits: &str) -> Result<Vec<AskId>, StoreError>;

    /// Lists cards, the one that changed last first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn cards(&self, filter: CardFilter) -> Result<Vec<CardSummary>, StoreError>;

    /// Reads a card with its runs, asks and landings.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn card(&self, card: CardId) -> Result<Option<CardDetail>, StoreError>;

    /// Reads turns of a card after a place, in order, at most `limit`; nothing for an unknown card.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn turns(&self, card: CardId, after: TurnSeq, limit: u32) -> Result<Option<Vec<Turn>>, StoreError>;

    /// Lists open asks, oldest first, each with the title of its card.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn open_asks(&self) -> Result<Vec<(Ask, String)>, StoreError>;

    /// Writes a machine's presence, unless another daemon that was seen within [`PRESENCE_LIFE`] holds the machine.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn present(&self, present: &Present) -> Result<Registered<()>, StoreError>;

    /// Ends the presence of this daemon, if it is the one that holds the machine.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn leave(&self, machine: MachineId, daemon: TokenHash) -> Result<(), StoreError>;

    /// Writes a pause, in the place of one with the same scope.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn pause(&self, scope: PauseScope, reason: Option<&str>, by: &Person) -> Result<Pause, StoreError>;

    /// Removes a pause; says whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn unpause(&self, scope: PauseScope) -> Result<bool, StoreError>;

    /// Lists the pauses that cover a machine, everything first.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, StoreError>;

    /// Writes a codebase unless it is there, and that the machine has it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn add_codebase(
        &self,
        id: CodebaseId,
        name: &str,
        machine: MachineId,
    ) -> Result<Registered<Codebase>, StoreError>;

    /// Lists all codebases, by name.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn codebases(&self) -> Result<Vec<Codebase>, StoreError>;
}

/// How long a machine counts as present after its last word.
pub const PRESENCE_LIFE: std::time::Duration = std::time::Duration::from_secs(90);
