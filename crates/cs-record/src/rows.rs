//! The rows of the record as domain types. A store turns its own row types into these, once, and an undecodable one is
//! corrupt, never a default.

use cs_fence::{FenceRow, ProcessFact, TokenHash};
use cs_model::{
    AgentName, AskId, AskState, AskTo, Author, CardId, CardState, CodebaseId, Epoch, FailureClass,
    LandMethod, LandingId, LandingState, MachineId, Opening, Person, Priority, RuleId, RunId, RunKind,
    RunState, Time, TurnId, TurnSeq, TurnState,
};
use cs_settle::{Offer, Usage};

use crate::{Evidence, RunUsage};

/// One conversation about one piece of work. Its row is what every operation on it locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The id.
    pub id: CardId,
    /// What people call it; 1 to 200 characters, one line.
    pub title: String,
    /// What it waits for.
    pub state: CardState,
    /// Why it is in that state, for people; no local path.
    pub reason: Option<String>,
    /// Who sent its first turn.
    pub person: Person,
    /// The codebase that its owner works on.
    pub codebase: Option<CodebaseId>,
    /// The branch of that codebase that its work starts from and lands on, without `refs/heads/`; 1 to 200 bytes.
    pub base: Option<String>,
    /// The route that runs its owner.
    pub agent: AgentName,
    /// The model that a person chose for it, as its harness names it; nothing leaves it to the agent.
    pub model: Option<String>,
    /// How much that is to think, the same.
    pub effort: Option<String>,
    /// Its owner's run, from the first take on; there is one for the card's whole life.
    pub owner: Option<RunId>,
    /// The machine that has its tree: only this one takes its work from the first take on.
    pub machine: Option<MachineId>,
    /// How work on it begins while it has no owner.
    pub opening: Opening,
    /// Which of two ready cards goes first.
    pub priority: Priority,
    /// Nothing of it starts before this time.
    pub not_before: Option<Time>,
    /// Whether a person wants it tried although its route is parked; over with the next start.
    pub recovery: bool,
    /// Whether what waits for it may go on: it is landed or closed, or has no codebase, is answered and waits for nothing.
    pub done: bool,
    /// The place of its newest turn.
    pub last_seq: TurnSeq,
    /// What it is ready for; computed from the aggregate after every decision.
    pub ready: Readiness,
    /// What its attempts used up over its whole life. A sum of nothing but zeros says no more than one that nobody told: it is nothing.
    pub usage: Usage,
    /// How many landings in a row ended in a conflict or a failed verify since a person last spoke or answered.
    pub landings_returned: u32,
    /// When it was made.
    pub created_at: Time,
    /// When anything on it last changed.
    pub updated_at: Time,
    /// Grows with every write of the row.
    pub version: u64,
}

/// What a card is ready for: the columns by which a take selects, and what `show` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// The kind of work.
    pub what: ReadyFor,
    /// From when.
    pub from: Time,
}

/// The kind of work that a card is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadyFor {
    /// Nothing: it waits for a person, or for a live run.
    Nothing,
    /// Its pending turns.
    Turns,
    /// Its owner has what it asked for.
    Rearm,
    /// Its owner failed or was cut short and may go on.
    Resume,
}

impl ReadyFor {
    /// Returns the text under which it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Turns => "turns",
            Self::Rearm => "rearm",
            Self::Resume => "resume",
        }
    }
}

/// One message on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The id, made by its writer, so that a repeated write is the same turn.
    pub id: TurnId,
    /// The card.
    pub card: CardId,
    /// Its place on the card.
    pub seq: TurnSeq,
    /// Who wrote it.
    pub author: Author,
    /// The words; at most 1 MiB.
    pub body: String,
    /// Where it is on its way to an answer.
    pub state: TurnState,
    /// The run that has taken or answered it.
    pub run: Option<RunId>,
    /// When it was said, by the record's clock.
    pub said_at: Time,
}

/// One agent's job on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The id.
    pub id: RunId,
    /// The card.
    pub card: CardId,
    /// What job it does.
    pub kind: RunKind,
    /// The run that sent it.
    pub parent: Option<RunId>,
    /// The codebase that it works on.
    pub codebase: Option<CodebaseId>,
    /// The model and effort with which its present or last attempt works, as its harness names them: chosen by a person for the card,
    /// or by its parent. Nothing leaves it to the agent.
    pub model: Option<String>,
    /// See `model`.
    pub effort: Option<String>,
    /// Where it is.
    pub state: RunState,
    /// Its present or last epoch.
    pub epoch: Epoch,
    /// The hash of that attempt's token.
    pub token: TokenHash,
    /// The machine that holds it.
    pub machine: MachineId,
    /// The route that runs it.
    pub agent: AgentName,
    /// The process of that attempt, from its record to the proof of its end.
    pub process: Option<ProcessFact>,
    /// What of that process tree could not be ended: a mark on a run that keeps its slot and its tree, whatever its state. It goes with
    /// the process.
    pub left_behind: Option<LeftBehind>,
    /// When it was first started.
    pub started_at: Time,
    /// When the present attempt began, if it is not the first.
    pub resumed_at: Option<Time>,
    /// When it ended; nothing while it is live.
    pub ended_at: Option<Time>,
    /// From when it may go on by itself, after a failure or an interruption.
    pub again_at: Option<Time>,
    /// Why its last attempt failed.
    pub failure: Option<FailureClass>,
    /// The reason of that failure for people; no local path.
    pub failed_because: Option<String>,
    /// How many of its last attempts failed with that class, one after another.
    pub failures_in_row: u32,
    /// Endings that the agent caused since its last accepted settlement.
    pub tries: u32,
    /// Starts since its last accepted settlement, whatever ended them.
    pub starts: u32,
    /// The epoch of its last accepted settlement: an attempt that asks goes on until it settles too.
    pub settled: Epoch,
    /// Of a child that ended: the epoch of the parent's attempt that was given it to read back.
    pub given: Option<Epoch>,
    /// Of a child that ended: whether an attempt of its parent that was given it has settled.
    pub read_back: bool,
    /// When a person gave its work free for another route or machine.
    pub handed_back_at: Option<Time>,
    /// Whether its next attempts begin a new conversation of the agent program, with the record as its memory: the old one is full,
    /// or another program's. Over with the next accepted settlement.
    pub fresh: bool,
    /// What its attempts used up; nothing while none has told anything.
    pub used: Option<RunUsage>,
}

/// What is left of an attempt whose stop was incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// The processes, for people; no local path.
    pub what: String,
    /// Since when the record knows of any.
    pub since: Time,
}

/// A text that belongs to a run. It is written once and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunText {
    /// The run.
    pub run: RunId,
    /// The attempt that wrote it; [`Epoch::NONE`] for the brief, which its parent wrote.
    pub epoch: Epoch,
    /// The words; at most 1 MiB.
    pub body: String,
}

impl Run {
    /// Says whether it may be started again by itself.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.state.is_live() || self.again_at.is_some()
    }

    /// Returns the part that a fence compares.
    #[must_use]
    pub fn fence(&self) -> FenceRow {
        FenceRow {
            epoch: self.epoch,
            token: self.token,
            state: self.state,
        }
    }
}

/// A question of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The id.
    pub id: AskId,
    /// The card.
    pub card: CardId,
    /// The run that asked.
    pub run: RunId,
    /// The question; of an offer the summary of the work.
    pub question: String,
    /// Answers to choose from; empty for a free text.
    pub choices: Vec<String>,
    /// Whether it offers to land the card's work.
    pub offer: Option<Offer>,
    /// Whom it goes to now.
    pub to: AskTo,
    /// Where it is.
    pub state: AskState,
    /// The answer; of an offer also the result of its landing.
    pub answer: Option<String>,
    /// Who answered.
    pub answered_by: Option<Author>,
    /// When it was asked.
    pub asked_at: Time,
    /// When it was answered.
    pub answered_at: Option<Time>,
    /// Whether an attempt that had its answer has settled.
    pub delivered: bool,
    /// The epoch of the last attempt whose claim found it: of the asking run, which its answer is news to, or, while it is open
    /// and goes to the parent, of the parent that is to settle it.
    pub given: Option<Epoch>,
    /// The turn with which it was asked, if its run spoke.
    pub turn: Option<TurnId>,
}

/// One merge of a card's work into its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The id.
    pub id: LandingId,
    /// The card.
    pub card: CardId,
    /// The codebase whose base is to move.
    pub codebase: CodebaseId,
    /// The branch that it lands on, without `refs/heads/`: the card's base unless the person said another.
    pub base: Option<String>,
    /// How the commits come onto it, if the person said so; otherwise as the codebase has it.
    pub method: Option<LandMethod>,
    /// The offer that was accepted, if the agent made one.
    pub ask: Option<AskId>,
    /// The message of the merge, if the offer gave one.
    pub message: Option<String>,
    /// Where it is.
    pub state: LandingState,
    /// Its present or last epoch.
    pub epoch: Epoch,
    /// The hash of that life's token; nothing before its first take.
    pub token: Option<TokenHash>,
    /// The machine that carries it out: the one that has the card's tree.
    pub machine: MachineId,
    /// Who accepted it.
    pub accepted_by: Person,
    /// When: the order in which landings of one base are taken.
    pub accepted_at: Time,
    /// The commit that the base holds now, if it landed.
    pub commit: Option<String>,
    /// What came out, for people; no local path.
    pub result: Option<String>,
    /// What the verify command said, if one ran.
    pub evidence: Option<Evidence>,
    /// When it was over.
    pub ended_at: Option<Time>,
}

/// A git repository known to the record. Where its checkout is, each machine keeps to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codebase {
    /// The id.
    pub id: CodebaseId,
    /// The name; unique.
    pub name: String,
    /// When it was registered.
    pub created_at: Time,
}

/// A text that agents are told at each of their starts, until a person changes or removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRule {
    /// The id.
    pub id: RuleId,
    /// The codebase whose agents are told; nothing tells all.
    pub codebase: Option<CodebaseId>,
    /// The words.
    pub body: String,
    /// How often its words were written: 1 as it was made.
    pub version: u32,
    /// Who wrote them last.
    pub by: Person,
    /// When it was made.
    pub created_at: Time,
    /// When its words were written last.
    pub updated_at: Time,
}

impl StandingRule {
    /// Says whether agents that work on this codebase, or on none, are told it.
    #[must_use]
    pub fn covers(&self, codebase: Option<CodebaseId>) -> bool {
        self.codebase.is_none() || self.codebase == codebase
    }
}

/// A machine, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The id.
    pub id: MachineId,
    /// What people call it.
    pub name: String,
    /// Whose machine it is: it takes this person's cards.
    pub person: Person,
    /// The boot in which its daemon runs.
    pub boot_id: String,
    /// The daemon that holds the machine: the hash of a secret made at its start.
    pub daemon: TokenHash,
    /// When that daemon was last seen; it counts as present for 90 s.
    pub seen_at: Time,
}
