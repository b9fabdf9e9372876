//! The inner port: rows, locks and transactions, without a rule.

use std::fmt;

use async_trait::async_trait;
use cs_fence::TokenHash;
use cs_model::{
    AskId, AttachmentId, CardId, CodebaseId, LandingId, MachineId, OperationId, PauseKind, Person, RuleId,
    RunId, Time, TurnId, TurnSeq,
};

use crate::journal::JournalRow;
use crate::{
    AddRule, Aggregate, Ask, Attachment, CardDetail, CardFilter, CardSummary, Codebase, Content, Event,
    EventPlace, LandingBrief, Limits, Listed, LiveLimit, OldOperation, Park, Pause, Peeked, Present,
    ReadyFor, Route, Run, RunBrief, Scope, StandingRule, Turn, Writes,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Which ready cards to lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Those that are ready for this kind of work, and whose route is not parked.
    Ready(ReadyFor),
    /// Those that a person wants tried although their route is parked, whatever they are ready for.
    Recovery,
}

/// Which cards to lock, and which row beside the open ones the command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Select {
    /// Cards that are ready, that this machine may have by all its limits, and that wait for no other card: the one with the
    /// highest priority first, then by the time from which they are ready, then by id; it never waits for a lock on a card.
    Ready {
        /// The kind of work; any, of the cards that a person wants tried on a parked route and of no others, for recovery.
        what: Offer,
        /// The machine that takes.
        machine: MachineId,
        /// The routes that it drives.
        agents: Vec<String>,
        /// How many at most.
        limit: u32,
    },
    /// The card of this run, with the limits of the machine that starts something on it.
    Start {
        /// The machine.
        machine: MachineId,
        /// The run that goes on, or that sends another one.
        run: RunId,
    },
    /// Cards with an accepted landing that this machine is to carry out: the first accepted of each base of a codebase that
    /// has none running, in the order of acceptance; it never waits for a lock.
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
    /// One card, also a new one, the turn when it has it, and whether these other cards are there and wait for it. While there
    /// are any, no other selection of this kind with any is held: two cards cannot come to wait for each other at once.
    Send {
        /// The card.
        card: CardId,
        /// The turn.
        turn: TurnId,
        /// The cards that are to be done first.
        after: Vec<CardId>,
        /// Whether the files of the card are read as well.
        files: bool,
    },
    /// One card, and its files.
    Files(CardId),
    /// The card of this ask.
    Ask(AskId),
    /// One card, and the landing when it has it.
    CardLanding(CardId, LandingId),
    /// The card of this landing.
    Landing(LandingId),
}

impl Select {
    /// The card whose files are read as well.
    #[must_use]
    pub const fn card_of_files(&self) -> Option<CardId> {
        match self {
            Self::Files(card)
            | Self::Send {
                card, files: true, ..
            } => Some(*card),
            Self::Send { .. }
            | Self::Ready { .. }
            | Self::Start { .. }
            | Self::Landings { .. }
            | Self::Runs(_)
            | Self::Card(_)
            | Self::Ask(_)
            | Self::CardLanding(..)
            | Self::Landing(_) => None,
        }
    }

    /// Returns a take of ready cards or landings with another limit; any other selection as it is.
    #[must_use]
    pub(crate) fn with_limit(&self, limit: u32) -> Self {
        let mut select = self.clone();
        if let Self::Ready { limit: most, .. } | Self::Landings { limit: most, .. } = &mut select {
            *most = limit;
        }
        select
    }
}

/// A card that a command wants done before its own one, as it was under the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    /// The card; one that is not there is left out.
    pub card: CardId,
    /// Whether it waits, over any number of others, for the card that is locked: then the two would wait for each other.
    pub waits_for_it: bool,
}

/// What was read under the locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The record's time, also when nothing was locked.
    pub now: Time,
    /// Limits of the machine that takes or starts; no limit and no codebase for other selections.
    pub limits: Limits,
    /// The cards that are to be done first, of those that were asked for.
    pub earlier: Vec<Earlier>,
    /// The files of the card, where they were asked for, in the order in which they were attached.
    pub attached: Vec<Attachment>,
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
    /// A take of ready cards or landings leaves out those of which a row does not decode, says each once as an error in the log,
    /// and finds the others also behind any number of them. [`Sift`](crate::Sift) is how.
    ///
    /// # Errors
    /// [`StoreError`], [`Corrupt`](StoreError::Corrupt) when a row of a card that the selection names does not decode; no
    /// transaction is open then.
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

    /// Says in one statement what a machine could take, but for the cards that its takes were seen to leave out.
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

    /// Lists the runs of a machine that are running or have a process on the record, by id, and those of them that do not
    /// decode.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn machine_runs(&self, machine: MachineId) -> Result<Listed<Run>, StoreError>;

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

    /// Lists cards, the one that changed last first, and those of which a row does not decode.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn cards(&self, filter: CardFilter) -> Result<Listed<CardSummary>, StoreError>;

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

    /// Lists open asks, oldest first, each with the title of its card, and the cards of those that do not decode.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn open_asks(&self) -> Result<Listed<(Ask, String)>, StoreError>;

    /// Reads events after a place, in order, at most `limit`, of one card or of all; nothing when there is no event at that place.
    /// What may come to be before an event is over, or the event is not read yet.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn events(
        &self,
        after: Option<EventPlace>,
        of: Option<CardId>,
        limit: u32,
    ) -> Result<Option<Vec<(EventPlace, Event)>>, StoreError>;

    /// Returns the place of the last event that can be read.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn last_event(&self) -> Result<Option<EventPlace>, StoreError>;

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
    async fn pause(
        &self,
        scope: Scope,
        kind: PauseKind,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, StoreError>;

    /// Removes a pause; says whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn unpause(&self, scope: Scope) -> Result<bool, StoreError>;

    /// Lists the pauses that cover a machine or a codebase that it has, everything first, then the machine, then codebases by id.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, StoreError>;

    /// Writes how many runs may be live in a scope, in the place of such a row of the same scope; nothing removes it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn limit(&self, scope: Scope, most: Option<u32>, by: &Person) -> Result<(), StoreError>;

    /// Lists all limits, those of machines first, by id.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn limits(&self) -> Result<Vec<LiveLimit>, StoreError>;

    /// Lists the parked routes of a machine, by agent, also those whose time is over.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn parks(&self, machine: MachineId) -> Result<Vec<Park>, StoreError>;

    /// Removes the park of a route; says whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn unpark(&self, route: &Route) -> Result<bool, StoreError>;

    /// Removes journal rows as [`forget_operations`](crate::Housekeeping::forget_operations) says.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, StoreError>;

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

    /// Lists the files of a card in the order in which they were attached, those of one act by name; nothing for an unknown card.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn attachments(&self, card: CardId) -> Result<Option<Vec<Attachment>>, StoreError>;

    /// Reads a file and what is in it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn attached(&self, attachment: AttachmentId) -> Result<Option<(Attachment, Content)>, StoreError>;

    /// Writes a standing rule unless it is there, and returns it as it is then.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn add_rule(&self, add: &AddRule) -> Result<StandingRule, StoreError>;

    /// Lists all standing rules: those for all, then those of codebases by id, each in the order in which they were made.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer, or one of them does not decode.
    async fn standing_rules(&self) -> Result<Vec<StandingRule>, StoreError>;

    /// Writes other words for a rule, if they are others, and returns it; nothing for one that is not there.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn edit_rule(
        &self,
        rule: RuleId,
        body: &str,
        person: &Person,
    ) -> Result<Option<StandingRule>, StoreError>;

    /// Removes a rule; says whether it was there.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot answer.
    async fn remove_rule(&self, rule: RuleId) -> Result<bool, StoreError>;
}

/// How long a machine counts as present after its last word.
pub const PRESENCE_LIFE: std::time::Duration = std::time::Duration::from_secs(90);

/// How long journal rows are kept: after they were written, and after the last attempt that they name has ended.
pub const JOURNAL_LIFE: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);
