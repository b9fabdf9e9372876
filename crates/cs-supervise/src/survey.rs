//! What became of an execution while nobody looked. The heart of a restart.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use crate::cgroup::Tier;
use crate::clock;
use crate::closed::{AgentExit, Closed, Proof};
use crate::dir::{self, ExecutionDir};
use crate::identity::ProcessIdentity;
use crate::link::{Link, LinkError};
use crate::pause::Pauser;
use crate::running::{AgentState, Running, Stopper, await_closed, kill_hung};
use crate::settle::{Settled, settle};
use crate::wire::{ClosedRecord, Ident, Keeper, Phase, Spec};

/// Between two tries to reach a shim that is being born or is ending.
const RETRY: Duration = Duration::from_millis(20);

/// What a survey found. Whether the lock is free decides, never whether a pid exists.
#[derive(Debug)]
pub enum Verdict {
    /// Nothing of the agent ever ran, and nothing will.
    NeverStarted(Closed),
    /// A live shim waits for its GO; whoever started it holds it.
    Waiting(Waiting),
    /// A live shim answers: the execution goes on, and its end will be told to us.
    Adopted(Running),
    /// A live process supervises it without a shim, this one or another: only that process can stop it. When it is gone, the next survey
    /// sweeps what is left. Nobody can be asked, so the whole budget passes until this is said: what ends meanwhile is told as ended.
    InProcess(ProcessIdentity),
    /// A live shim does not answer within the budget.
    ShimHung(HungShim),
    /// Something else answers at the shim's place. Nothing was signalled; a person must look.
    ForeignShim,
    /// It ended while nobody looked, in order.
    Finished(Closed),
    /// The agent's end was stored, then the shim died; what it left was swept now.
    ShimDiedClosing(Closed),
    /// The shim, or who supervised it without one, died before the agent's end was known; what it left was swept now.
    ShimLost(Closed),
    /// The machine was started anew since.
    HostRebooted(Closed),
}

/// Why a survey came to no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// What the directory holds, or its shim says, cannot be understood: a later version wrote it, or it is damaged. Nothing was signalled.
    #[error(
        "the execution in {} is not understood ({op}); if a later version of this program started it, use that version or a later one",
        dir.display()
    )]
    NotUnderstood {
        /// The directory.
        dir: PathBuf,
        /// What was being done.
        op: &'static str,
        /// What is not understood.
        #[source]
        source: io::Error,
    },
    /// The directory cannot be read, written or locked.
    #[error("the execution directory {} cannot be judged: {op}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// What was being done.
        op: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The shim's connection has ended, and yet the execution's lock is held.
    #[error("the shim of {} does not answer and does not end", dir.display())]
    StillHeld {
        /// The directory.
        dir: PathBuf,
    },
}

impl SurveyError {
    pub(crate) fn of(dir: &ExecutionDir, op: &'static str, source: io::Error) -> Self {
        let dir = dir.path().to_path_buf();
        match source.kind() {
            io::ErrorKind::InvalidData => Self::NotUnderstood { dir, op, source },
            _ => Self::Directory { dir, op, source },
        }
    }
}

/// A live shim that waits for its GO in somebody's hands.
#[derive(Debug)]
pub struct Waiting {
    stopper: Stopper,
    pauser: Pauser,
}

impl Waiting {
    /// A handle that ends it: its exit is then `NeverStarted`.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// A handle that pauses it as soon as it has its GO.
    #[must_use]
    pub fn pauser(&self) -> Pauser {
        self.pauser.clone()
    }
}

/// A live shim that does not answer.
#[derive(Debug)]
pub struct HungShim {
    dir: ExecutionDir,
    shim: ProcessIdentity,
}

impl HungShim {
    /// Which process hangs.
    #[must_use]
    pub fn shim(&self) -> &ProcessIdentity {
        &self.shim
    }

    /// Kills the shim, its identity checked; the kernel then kills the agent, and the rest of the tree is swept.
    ///
    /// # Errors
    /// The end could not be established.
    pub async fn end(self) -> Result<Closed, SurveyError> {
        kill_hung(&self.dir).await
    }
}

/// Judges an execution by its directory, and attaches to it when it is alive.
///
/// What is found dead is swept and its end stored, so a second survey finds it finished. `budget` bounds how long a live
/// shim may take to answer.
///
/// # Errors
/// See [`SurveyError`].
pub async fn survey(dir: &ExecutionDir, budget: Duration) -> Result<Verdict, SurveyError> {
    let failed = |op| move |source| SurveyError::of(dir, op, source);
    if !dir.path().try_exists().map_err(failed("look for it"))? {
        return Ok(Verdict::NeverStarted(never_started()));
    }
    let deadline = Instant::now() + budget;
    let mut retry = tokio::time::interval(RETRY);
    retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        retry.tick().await;
        if let Some(lock) = dir.try_lock().map_err(failed("lock"))? {
            let there = dir.clone();
            let settled = tokio::task::spawn_blocking(move || settle(&there, &lock)).await;
            let settled = settled.map_err(|error| failed("settle")(io::Error::other(error)))?;
            return settled.map(Verdict::from).map_err(failed("settle"));
        }
        match tokio::time::timeout_at(deadline, attach(dir)).await {
            Ok(Some(verdict)) => return verdict,
            Ok(None) if Instant::now() < deadline => {}
            Ok(None) | Err(_) => return held_to_the_end(dir),
        }
    }
}

/// Talks to whoever answers at the socket; `None` while a shim is being born or ends: the lock will tell.
async fn attach(dir: &ExecutionDir) -> Option<Result<Verdict, SurveyError>> {
    let failed = |source| SurveyError::of(dir, "read", source);
    let (spec, keeper) = match (dir.read::<Spec>(dir::SPEC), dir.read::<Keeper>(dir::KEEPER)) {
        (Ok(Some(spec)), Ok(keeper)) => (spec, keeper),
        (Ok(None), Ok(_)) => return None,
        // Who is not understood, or cannot be read now, does not hang.
        (Err(error), _) | (_, Err(error)) => return Some(Err(failed(error))),
    };
    if keeper.is_some() {
        // Nobody answers. Whether it is kept, or somebody has the lock for a moment after its end, shows in time.
        let closed = dir.read::<ClosedRecord>(dir::CLOSED).map_err(failed);
        let over = closed.map(|closed| closed.map(Closed::from).filter(Closed::is_over));
        return over.map(|over| over.map(Verdict::of_over)).transpose();
    }
    let greeted = async {
        let mut link = Link::connect(dir).await?;
        let (ident, phase) = link.greet(&spec.nonce).await?;
        Ok((link, ident, phase))
    };
    let (mut link, ident, phase) = match greeted.await {
        Ok(greeted) => greeted,
        Err(LinkError::Foreign) => return Some(Ok(Verdict::ForeignShim)),
        Err(LinkError::Io(_) | LinkError::Ended) => return None,
        Err(LinkError::NotUnderstood(error)) => {
            let source = io::Error::new(io::ErrorKind::InvalidData, error);
            return Some(Err(SurveyError::of(dir, "greet the shim", source)));
        }
        Err(error @ LinkError::Unfit(_)) => {
            let source = io::Error::new(io::ErrorKind::InvalidData, error);
            return Some(Err(SurveyError::of(dir, "greet the shim", source)));
        }
        Err(error @ (LinkError::Refused(_) | LinkError::Broken { .. })) => {
            return Some(Err(SurveyError::of(
                dir,
                "greet the shim",
                io::Error::other(error),
            )));
        }
    };
    let state = match phase {
        Phase::Held => {
            return Some(Ok(Verdict::Waiting(Waiting {
                stopper: Stopper::new(dir, &spec),
                pauser: Pauser::new(dir, &spec.nonce),
            })));
        }
        Phase::Closing { agent: None } => {
            let closed = await_closed(&mut link, dir).await;
            return Some(closed.map(Verdict::of_over));
        }
        Phase::Running { agent, paused, tier } => AgentState { agent, paused, tier },
        Phase::Closing { agent: Some(agent) } => AgentState {
            agent,
            paused: None,
            tier: Tier::default(),
        },
    };
    Some(Ok(Verdict::Adopted(Running::new(
        link, dir, &spec, &ident, state,
    ))))
}

/// Somebody has held the lock for the whole budget, and nobody has answered.
fn held_to_the_end(dir: &ExecutionDir) -> Result<Verdict, SurveyError> {
    let failed = |source| SurveyError::of(dir, "read", source);
    if let Some(keeper) = dir.read::<Keeper>(dir::KEEPER).map_err(failed)?
        && keeper.process.is_alive()
    {
        return Ok(Verdict::InProcess(keeper.process));
    }
    match dir.read::<Ident>(dir::IDENT).map_err(failed)? {
        Some(ident) => Ok(Verdict::ShimHung(HungShim {
            dir: dir.clone(),
            shim: ident.shim,
        })),
        None => Err(SurveyError::StillHeld {
            dir: dir.path().to_path_buf(),
        }),
    }
}

fn never_started() -> Closed {
    Closed {
        exit: AgentExit::NeverStarted,
        stopped_by_us: false,
        proof: Some(Proof::SweepClean),
        leaked: Vec::new(),
        survivors: Vec::new(),
        rounds: 0,
        ended_at_unix_micros: clock::unix_micros(),
        limit: None,
        worked: None,
        dismissed_at_unix_micros: None,
    }
}

impl Verdict {
    /// The verdict on what ended in order.
    fn of_over(closed: Closed) -> Self {
        match closed.exit {
            AgentExit::NeverStarted => Self::NeverStarted(closed),
            _ => Self::Finished(closed),
        }
    }
}

impl From<Settled> for Verdict {
    fn from(settled: Settled) -> Self {
        match settled {
            Settled::NeverStarted(closed) => Self::NeverStarted(closed),
            Settled::Finished(closed) => Self::Finished(closed),
            Settled::ShimDiedClosing(closed) => Self::ShimDiedClosing(closed),
            Settled::ShimLost(closed) => Self::ShimLost(closed),
            Settled::HostRebooted(closed) => Self::HostRebooted(closed),
        }
    }
}
