//! What a daemon reads and says.

use std::fmt;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, ProcessFact, TokenHash};
use cs_model::{
    AttachmentId, CardId, CodebaseId, Epoch, FailureClass, LandingId, MachineId, PauseKind, Person, RunId,
    RunState, Time,
};

use crate::{
    Ask, Attachment, Card, Content, Landing, LiveLimit, Park, Pause, RecordError, Route, Run, Scope,
    StandingRule, Turn,
};

/// What one read says of the work that a machine could take. A hint: the claim decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peeked {
    /// Cards with turns to take.
    pub turns: bool,
    /// Runs that have what they asked for.
    pub rearms: bool,
    /// Runs that may go on.
    pub resumes: bool,
    /// Work that a person wants tried on a parked route.
    pub recovery: bool,
    /// Landings to carry out.
    pub landings: bool,
    /// Runs of this machine that do not run and still have a process on the record.
    pub to_close: bool,
    /// The next time at which something becomes ready by itself: a retry, a start time, the end of a park.
    pub next_due: Option<Time>,
    /// The owners at work here to whom a person has said something since their attempt began.
    pub redirects: Vec<Redirect>,
}

/// A person's turn has come for an owner that is at work on a machine (OW-14).
///
/// The newest turn counts, and only one said strictly later than the attempt began (OW-15, AF-15). The agent is ended, and the next
/// attempt of its run takes all turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The run.
    pub run: RunId,
    /// The attempt that began before the turn came.
    pub epoch: Epoch,
    /// Its card.
    pub card: CardId,
    /// The card's codebase.
    pub codebase: Option<CodebaseId>,
    /// Whether the next attempt could start once this one has ended, as far as the card's start time, the cards that it waits for, its
    /// agent and its route say. Where it could not, the agent goes on meanwhile.
    pub is_due: bool,
}

/// A machine's presence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// The machine.
    pub machine: MachineId,
    /// What people call it.
    pub name: String,
    /// Whose it is.
    pub person: Person,
    /// The boot in which its daemon runs.
    pub boot_id: String,
    /// The hash of the daemon's secret: two daemons with one machine id are told apart by it.
    pub daemon: TokenHash,
    /// The daemons that this one knows to be dead, since it holds the lock that they held: it takes their place at once.
    pub follows: Vec<TokenHash>,
    /// The codebases that it has a checkout of.
    pub codebases: Vec<CodebaseId>,
    /// Whether it takes the cards of everybody; otherwise those of its person.
    pub serves_everyone: bool,
}

impl Present {
    /// Says whether this daemon may hold a machine that this other one holds now.
    #[must_use]
    pub fn may_follow(&self, holder: &TokenHash) -> bool {
        self.daemon == *holder || self.follows.contains(holder)
    }
}

/// A run of this machine that is over, or has asked, and whose process is not proven gone. Until it is, and
/// [`clear_process`](cs_fence::AttemptRecord::clear_process) says so, nothing more is started on its card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedRun {
    /// The run.
    pub run: RunId,
    /// Its card.
    pub card: CardId,
    /// The epoch of the attempt that has the process.
    pub epoch: Epoch,
    /// How it ended.
    pub state: RunState,
    /// The process.
    pub process: ProcessFact,
}

/// A run of this machine that the record holds for running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldProcess {
    /// The run.
    pub run: RunId,
    /// Its card.
    pub card: CardId,
    /// The epoch of its attempt.
    pub epoch: Epoch,
    /// The process, when it was recorded.
    pub process: Option<ProcessFact>,
}

/// A process of which nothing is left but what the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftProcess {
    /// Its run.
    pub run: RunId,
    /// The epoch of its attempt.
    pub epoch: Epoch,
    /// The process.
    pub process: ProcessFact,
}

/// What a run is to work on, read after the claim by live and recovered claims alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBrief {
    /// The card.
    pub card: Card,
    /// The name of its codebase.
    pub codebase: Option<String>,
    /// All turns of the card, in order; those that the run holds are `leased` to it.
    pub turns: Vec<Turn>,
    /// The questions of the run, oldest first: those whose `given` is the attempt's epoch are news to it.
    pub asks: Vec<Ask>,
    /// What its parent sent it to do, if one did.
    pub brief: Option<String>,
    /// Its children, oldest first; nothing for a worker, which cannot have any, so that an empty list means none (TL-8).
    pub children: Option<Vec<ChildBrief>>,
    /// The open questions of its children that were given to its attempt to settle, oldest first.
    pub questions: Vec<Ask>,
    /// The standing rules for agents on the codebase of the run, as they stand now, in the order of
    /// [`standing_rules`](crate::StandingRules::standing_rules).
    pub rules: Vec<StandingRule>,
    /// The files of the card, in the order in which they were attached.
    pub attachments: Vec<Attachment>,
    /// What became of the attempt before this one.
    pub former: Former,
}

/// What became of the attempt before another one of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Former {
    /// There was none.
    None,
    /// It answered, or asked.
    Settled,
    /// It was cut short through no fault of its own, such as by a new message.
    CutShort,
    /// A person stopped it.
    Stopped,
    /// It failed.
    Failed(FailureClass),
}

impl Former {
    /// Says what became of the attempt before the present one of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let before = run.epoch.get().saturating_sub(1);
        if before == 0 {
            return Self::None;
        }
        if run.settled.get() == before {
            return Self::Settled;
        }
        match run.failure {
            Some(FailureClass::Interrupted) => Self::CutShort,
            Some(class) => Self::Failed(class),
            None => Self::Stopped,
        }
    }
}

/// A child of a run, as its parent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildBrief {
    /// The child. Its `given` is the parent's epoch when the parent's attempt is to read it back.
    pub run: Run,
    /// What it was sent to do.
    pub brief: String,
    /// What its last accepted settlement reported.
    pub report: Option<String>,
}

/// What a landing is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingBrief {
    /// The card.
    pub card: Card,
    /// The landing.
    pub landing: Landing,
}

/// Reads of a daemon.
#[async_trait]
pub trait DaemonReads: fmt::Debug + Send + Sync {
    /// Says in one statement, without a lock, for which steps of a pass the record has anything for this machine. A card that
    /// takes of this process were seen to leave out, since a row of it does not decode, counts no longer until it is mended.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, RecordError>;

    /// Reads what a run is to work on; `Stale` when the attempt is not the current one or its run is not running.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn run_brief(&self, attempt: &Attempt) -> Result<Fenced<RunBrief>, RecordError>;

    /// Reads a file of a card.
    ///
    /// # Errors
    /// Not found when it was taken away since; corrupt when it is not what was attached.
    async fn attached(&self, attachment: AttachmentId) -> Result<Content, RecordError>;

    /// Reads what a landing is to do.
    ///
    /// # Errors
    /// Not found for an unknown landing.
    async fn landing_brief(&self, landing: LandingId) -> Result<LandingBrief, RecordError>;

    /// Lists the runs of a machine that do not run and still have a process on the record, by id. One that does not decode is
    /// left out.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn stopped_runs(&self, machine: MachineId) -> Result<Vec<StoppedRun>, RecordError>;

    /// Lists the runs of a machine that the record holds for running, by id: what a new ledger imports once (RC-4).
    ///
    /// # Errors
    /// When the record cannot answer, and when any of them does not decode: what an import leaves out is lost.
    async fn running_runs(&self, machine: MachineId) -> Result<Vec<HeldProcess>, RecordError>;
}

/// Machines, and whether work may start.
#[async_trait]
pub trait Machines: fmt::Debug + Send + Sync {
    /// Says that a machine's daemon is there, and which codebases it has. Presence lasts 90 s by the record's clock.
    ///
    /// # Errors
    /// Refused with [`Refusal::MachineHeld`](crate::Refusal::MachineHeld) while another daemon with the same machine id is present.
    async fn present(&self, present: &Present) -> Result<(), RecordError>;

    /// Says that the daemon leaves, so that the next one need not wait. It changes nothing when another holds the machine.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn leave(&self, machine: MachineId, daemon: TokenHash) -> Result<(), RecordError>;

    /// Gives back a running run of which this machine has lost every trace, its ledger and the execution's directory, so that
    /// no attempt is left that could say so itself. The run is ready at once, as after an interruption. It says whether that was
    /// so: a run of another machine or epoch, or with a process on the record, stays as it is.
    ///
    /// To be called only by the daemon that holds the machine's lock, for what its ledger does not know.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn hand_back_run(&self, machine: MachineId, run: RunId, epoch: Epoch) -> Result<bool, RecordError>;

    /// Takes the process of a run off the record of which this machine has lost every trace in the same way, once its end is proven: there
    /// is no attempt that could [clear](cs_fence::AttemptRecord::clear_process) it. The run may be running or over; it stays so. It says
    /// whether that was done: a run of another machine or epoch, or with another process, stays as it is.
    ///
    /// To be called only by the daemon that holds the machine's lock, for what its ledger does not know.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn forget_process(&self, machine: MachineId, left: &LeftProcess) -> Result<bool, RecordError>;

    /// Gives back a running landing in the same case: it is accepted again, and the next take finds what git made of it.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn hand_back_landing(
        &self,
        machine: MachineId,
        landing: LandingId,
        epoch: Epoch,
    ) -> Result<bool, RecordError>;

    /// Pauses or drains; a second pause of the same scope replaces the first.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn pause(
        &self,
        scope: Scope,
        kind: PauseKind,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, RecordError>;

    /// Ends a pause; says whether there was one.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn unpause(&self, scope: Scope) -> Result<bool, RecordError>;

    /// Lists the pauses that cover a machine or a codebase that it has: everything first, then the machine, then codebases.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, RecordError>;

    /// Limits how many runs may be live on a machine or a codebase; nothing takes the limit away. Runs that are live already go on.
    ///
    /// # Errors
    /// Refused for everything: a limit belongs to a machine or a codebase.
    async fn limit(&self, scope: Scope, most: Option<u32>, by: &Person) -> Result<(), RecordError>;

    /// Lists all limits, those of machines first.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn limits(&self) -> Result<Vec<LiveLimit>, RecordError>;

    /// Lists the parked routes of a machine, by agent, also those whose time is over.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn parks(&self, machine: MachineId) -> Result<Vec<Park>, RecordError>;

    /// Says that the cause is gone for which a route was parked; says whether it was. What waits for it is ready at once.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn unpark(&self, route: &Route) -> Result<bool, RecordError>;
}
