//! Executions as the daemon sees them: named places in which the agent of one attempt is held, runs and ends.
//!
//! An execution outlives the daemon. Whether something of it still runs is never remembered: it is asked.

mod allowance;
mod attempt_file;
mod batch;
pub(crate) mod beside;
mod errors;
mod follow;
mod keepers;
mod kept;
mod meter;
mod session_file;
mod shims;
mod stop;
mod verify_file;
mod watch;

use std::fmt;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use cs_fence::ProcessFact;
use cs_harness::{Harness, PrivateFile, Seen};
use cs_model::{Epoch, RunId};
use cs_supervise::{
    AgentExit, Closed, ExecutionSpec, GoError, HoldError, Limit, PauseError, StopError, StopRequest,
    is_shortage,
};

pub use allowance::{Allowance, Alone};
pub(crate) use attempt_file::plain_harness;
pub use attempt_file::{AttemptFile, RuleTold};
pub use errors::last_words;
pub use follow::LostSight;
pub(crate) use meter::Meter;
pub use session_file::SessionPlace;
pub use shims::ShimExecutions;
pub use stop::{StopLevel, StopSwitch};
pub use verify_file::VerifyFile;
pub(crate) use watch::EndedFor;

/// The executions of one machine, each with a name that is used once.
#[async_trait]
pub trait Executions: fmt::Debug + Send + Sync {
    /// Lists the executions of one attempt in the order in which they were made. Their names follow from run and epoch, so that
    /// they are found again whatever else was lost.
    ///
    /// # Errors
    /// They cannot be listed; then nobody knows whether there are any.
    async fn names(&self, run: RunId, epoch: Epoch) -> io::Result<Vec<String>>;

    /// Makes a new execution and keeps beside it what it is for. Durable when it returns; nothing of it runs. Cut short it leaves an
    /// execution that was never started.
    ///
    /// # Errors
    /// It cannot be kept, or there is one of that name.
    async fn create(&self, name: &str, note: &ExecutionNote) -> io::Result<()>;

    /// Reads whose execution it is; nothing when there is none, when it is of no attempt, or it was cut short while it was made.
    async fn attempt(&self, name: &str) -> Option<AttemptFile>;

    /// Starts what will hold the agent, once for each execution, and waits until it does. Nothing of the agent runs. What holds
    /// ends by itself when its daemon does, or when the value is dropped, without the agent ever having run.
    ///
    /// # Errors
    /// [`HoldTrouble`]; nothing runs.
    async fn hold(&self, name: &str, launch: &Launch<'_>) -> Result<Box<dyn HeldExecution>, HoldTrouble>;

    /// Finds what is left of an execution. What only waits for an agent to start, or hangs, is ended first. What runs is in our hands
    /// from here on, as what was [started](HeldExecution::go) is: its lease is renewed for as long as this value lives.
    ///
    /// # Errors
    /// It could not be established; something of it may run.
    async fn survey(&self, name: &str) -> Result<Found, StopError>;

    /// Says whether an execution is over by what is written of it: its end is proven, or a person has dismissed what is left. It asks
    /// nobody, and ends nothing; false where that cannot be read.
    async fn is_over(&self, name: &str) -> bool;

    /// Says how much disk the raw output of an agent occupies; what cannot be seen counts as nothing.
    async fn output_bytes(&self, name: &str) -> u64;

    /// Reads all that the agent of a closed execution has said. Nothing, when it never ran.
    ///
    /// # Errors
    /// What it said cannot be read, or cannot be kept.
    async fn heard(&self, name: &str, harness: &dyn Harness) -> Result<Seen, LostSight>;
}

/// What an execution is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each start, and it is written at once"
)]
pub enum ExecutionNote {
    /// The agent of an attempt.
    Attempt(AttemptFile),
    /// The verify of a landing.
    Verify(VerifyFile),
}

/// An execution that waits for its GO.
#[async_trait]
pub trait HeldExecution: fmt::Debug + Send + Sync {
    /// Names what holds it, for the ledger.
    fn shim(&self) -> &str;

    /// Gives it the prompt, and waits until the agent runs. Dropped before it returns it may or may not have: a
    /// [`survey`](Executions::survey) tells.
    ///
    /// # Errors
    /// [`GoError`]; after [`GoError::Unknown`] the agent may run.
    async fn go(self: Box<Self>, prompt: &[u8]) -> Result<Box<dyn RunningExecution>, GoError>;

    /// Lets the agent stand still from its start on, until somebody lets it go on.
    ///
    /// # Errors
    /// See [`PauseError`].
    async fn pause(&self) -> Result<(), PauseError>;

    /// Ends it without the agent ever having run.
    ///
    /// # Errors
    /// Its end could not be established.
    async fn abandon(self: Box<Self>) -> Result<(), StopError>;
}

/// An execution whose agent runs. Dropping it changes nothing: the agent goes on.
#[async_trait]
pub trait RunningExecution: fmt::Debug + Send + Sync {
    /// Returns which process the agent is.
    fn agent(&self) -> &ProcessFact;

    /// Follows it until its tree is closed, and keeps what the agent says as it comes. When `stop` asks for it, its tree is
    /// closed by the ladder; when the agent has said what it wanted it gets a grace first. Dropping the future ends the
    /// following, not the agent; what was kept is read again by the next one.
    ///
    /// # Errors
    /// [`LostSight`]; it may still run.
    async fn follow(
        &mut self,
        harness: &dyn Harness,
        patience: Patience,
        stop: &StopSwitch,
    ) -> Result<ExecutionEnd, LostSight>;

    /// Closes its tree, and waits until it is.
    ///
    /// # Errors
    /// Its end could not be established.
    async fn stop(&self, request: StopRequest) -> Result<Closed, StopError>;
}

/// What an agent is started with.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The command, its environment and where it works.
    pub spec: &'a ExecutionSpec,
    /// Files beside it, for its user only.
    pub files: &'a [PrivateFile],
}

/// Why an execution is not held.
#[derive(Debug, thiserror::Error)]
pub enum HoldTrouble {
    /// Its files cannot be written.
    #[error("the files of the agent cannot be written")]
    Files(#[source] io::Error),
    /// Nothing holds it.
    #[error(transparent)]
    Hold(#[from] HoldError),
}

impl HoldTrouble {
    /// Says whether the machine was short of something that it may have again.
    pub(crate) fn is_shortage(&self) -> bool {
        match self {
            Self::Files(error) => error.raw_os_error().is_some_and(is_shortage),
            Self::Hold(error) => error.is_shortage(),
        }
    }
}

/// What is left of an execution.
#[derive(Debug)]
pub enum Found {
    /// Nothing of the agent ever ran, and nothing will.
    NeverStarted,
    /// Its directory does not hold what anything would have been started with. Either nothing was, or somebody has removed it: whoever
    /// has noted more of it knows.
    NoTrace,
    /// Its agent runs.
    Running(Box<dyn RunningExecution>),
    /// It is over.
    Closed(Closed),
    /// Something that is not ours is in its place; it was left alone.
    Foreign,
}

/// What following an agent to its end gave.
#[derive(Debug)]
pub struct ExecutionEnd {
    /// How it ended, and the proof that nothing of it is left.
    pub closed: Closed,
    /// Everything it said.
    pub seen: Seen,
}

impl ExecutionEnd {
    /// Returns the limit that ended the agent before it had said what it wanted; what it has said counts more.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        self.closed.limit.filter(|_| !is_done(&self.seen))
    }

    /// Says whether somebody stopped the agent before it had said what it wanted. Where the record knows of the stop it is told nothing
    /// more; where it could not be told, this tells it.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.closed.stopped_by_us && self.closed.limit.is_none() && !is_done(&self.seen)
    }

    /// Says whether the agent was cut short: nobody saw its end, or it was stopped since nobody followed it, and it had not said what
    /// it wanted.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        match self.limit() {
            Some(Limit::Lease) => true,
            Some(Limit::Awake | Limit::SpoolBytes) => false,
            None => self.closed.exit == AgentExit::Unknown && !is_done(&self.seen),
        }
    }
}

/// How an agent is to be ended early.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long it may stay after it gave its answer, or said in its output that it asks or offers.
    pub when_done: Duration,
    /// How long it may stay after it asked or offered through its tools: it still has to end its turn.
    pub after_word: Duration,
    /// How long each step of a stop may take.
    pub stop_step: Duration,
}

impl Patience {
    /// Says how a stop is to go.
    #[must_use]
    pub const fn stop(&self) -> StopRequest {
        StopRequest {
            interrupt_grace: self.stop_step,
            terminate_grace: self.stop_step,
        }
    }
}

/// Says whether an agent has said what it wanted, or that its task is over, and so has nothing more to do.
#[must_use]
pub fn is_done(seen: &Seen) -> bool {
    seen.question().is_some() || seen.offer().is_some() || seen.final_text().is_some() || seen.end().is_some()
}

/// Names an execution of an attempt, the first one with number 1. A second one is needed when a crash left the first without a
/// registration: what it may have begun must not meet what is begun now.
#[must_use]
pub fn execution_name(run: RunId, epoch: Epoch, number: usize) -> String {
    match number {
        1 => format!("{run}.{epoch}"),
        later => format!("{run}.{epoch}-{later}"),
    }
}
