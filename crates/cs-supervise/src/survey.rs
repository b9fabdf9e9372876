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
use crate::wire::{Ident, Keeper, Phase, Spec};

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
    /// sweeps what is left.
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
    /// The directory cannot be read, written or locked, or what it holds cannot be understood.
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
        Self::Directory {
            dir: dir.path().to_path_buf(),
            op,
            source,
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
            Ok(None) | Err(_) => return hung(dir),
        }
    }
}

/// Talks to whoever answers at the socket; `None` while a shim is being born or ends: the lock will tell.
async fn attach(dir: &ExecutionDir) -> Option<Result<Verdict, SurveyError>> {
    let Ok(Some(spec)) = dir.read::<Spec>(dir::SPEC) else {
        return None;
    };
    if let Ok(Some(keeper)) = dir.read::<Keeper>(dir::KEEPER) {
        // Somebody else may have the lock for a moment after its end.
        return keeper
            .process
            .is_alive()
            .then_some(Ok(Verdict::InProcess(keeper.process)));
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
        Err(error) => {
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
            return Some(closed.map(|closed| match closed.exit {
                AgentExit::NeverStarted => Verdict::NeverStarted(closed),
                _ => Verdict::Finished(closed),
            }));
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

fn hung(dir: &ExecutionDir) -> Result<Verdict, SurveyError> {
    let ident = dir
        .read::<Ident>(dir::IDENT)
        .map_err(|source| SurveyError::of(dir, "read", source))?;
    match ident {
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
