//! A running execution, as its follower and as anybody who may stop it see it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cgroup::Tier;
use crate::closed::Closed;
use crate::dir::{self, ExecutionDir};
use crate::identity::{BootId, ProcessIdentity, Protocol};
use crate::limits::{LeaseEnd, Limits};
use crate::link::{Link, LinkError};
use crate::pause::{PausedBy, Pauser};
use crate::settle::settle;
use crate::survey::SurveyError;
use crate::sys;
use crate::wire::{self, Ident, Reply, Request, Spec};

/// How long a shim whose connection has ended may take until its process has.
const SHIM_END_LIMIT: Duration = Duration::from_secs(10);
/// How long a shim may take to greet.
const GREET_LIMIT: Duration = Duration::from_secs(5);
/// How long a shim that was told to stop may take beyond the graces: its force and its sweep are bounded by far less.
const FORCE_LIMIT: Duration = Duration::from_secs(60);

/// How long somebody else may take to settle an execution whose shim has ended.
const SETTLE_LIMIT: Duration = Duration::from_secs(15);
/// Nothing tells when a lock is free.
const LOCK_RETRY: Duration = Duration::from_millis(20);
/// A lease is renewed no more and no less often than this.
const RENEWAL_MIN: Duration = Duration::from_millis(10);
const RENEWAL_MAX: Duration = Duration::from_secs(60);

/// An execution whose agent was started, and a connection on which its shim will tell the end.
#[derive(Debug)]
pub struct Running {
    link: Link,
    stopper: Stopper,
    agent: ProcessIdentity,
    paused: Option<PausedBy>,
    tier: Tier,
    renewal: Option<Renewal>,
    concluding: JoinSet<Result<Closed, SurveyError>>,
    closed: Option<Box<Closed>>,
}

/// When to say next that somebody follows.
#[derive(Debug)]
struct Renewal {
    due: Instant,
    interval: Duration,
}

impl Renewal {
    /// Nothing needs to be said to a shim that would do nothing about it, or would not understand.
    fn of(spec: &Spec, ident: &Ident) -> Option<Self> {
        let lease = Limits::from(spec.limits).lease;
        let counts = match lease.at_end {
            LeaseEnd::Continue => false,
            LeaseEnd::Pause | LeaseEnd::Stop => ident.protocol >= Protocol::WITH_PAUSE,
        };
        counts.then(|| Self {
            due: Instant::now(),
            interval: (lease.length / 4).clamp(RENEWAL_MIN, RENEWAL_MAX),
        })
    }
}

/// What its shim says of an agent.
#[derive(Debug)]
pub(crate) struct AgentState {
    pub(crate) agent: ProcessIdentity,
    pub(crate) paused: Option<PausedBy>,
    pub(crate) tier: Tier,
}

impl Running {
    pub(crate) fn new(link: Link, dir: &ExecutionDir, spec: &Spec, ident: &Ident, state: AgentState) -> Self {
        Self {
            link,
            stopper: Stopper::new(dir, spec),
            agent: state.agent,
            paused: state.paused,
            tier: state.tier,
            renewal: Renewal::of(spec, ident),
            concluding: JoinSet::new(),
            closed: None,
        }
    }

    /// Who had paused it when this handle was made.
    #[must_use]
    pub fn paused(&self) -> Option<PausedBy> {
        self.paused
    }

    /// What held its processes together when this handle was made.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// A handle that pauses it and lets it go on.
    #[must_use]
    pub fn pauser(&self) -> Pauser {
        Pauser::new(&self.stopper.dir, &self.stopper.nonce)
    }

    /// Which process the agent is. It may have ended.
    #[must_use]
    pub fn agent(&self) -> &ProcessIdentity {
        &self.agent
    }

    /// A handle that stops the execution while another task waits for its end.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits until the whole tree is closed, and renews the execution's lease meanwhile. Cancel safe; later calls return the
    /// same.
    ///
    /// Should the shim die, its tree is swept here and the exit is `Unknown`, unless it was already stored.
    ///
    /// # Errors
    /// The end could not be established: `/proc` or the directory cannot be read or written, or the shim hangs.
    pub async fn closed(&mut self) -> Result<Closed, SurveyError> {
        if let Some(closed) = &self.closed {
            return Ok(closed.as_ref().clone());
        }
        while self.concluding.is_empty() {
            let due = self.renewal.as_ref().map(|renewal| renewal.due);
            tokio::select! {
                biased;
                () = at(due) => self.renew(),
                reply = self.link.receive() => match reply {
                    Ok(Reply::Closed { closed }) => return Ok(self.keep(closed.into())),
                    Ok(_) => {}
                    Err(error) => self.conclude(&error),
                },
            }
        }
        let closed = match self.concluding.join_next().await {
            Some(Ok(concluded)) => concluded?,
            Some(Err(error)) => return Err(SurveyError::of(&self.stopper.dir, "settle", error.into())),
            None => return Err(self.stopper.still_held()),
        };
        Ok(self.keep(closed))
    }

    fn keep(&mut self, closed: Closed) -> Closed {
        self.closed = Some(Box::new(closed.clone()));
        closed
    }

    /// Establishes the end without the shim. Who waits for it may leave and come again.
    fn conclude(&mut self, error: &LinkError) {
        let dir = self.stopper.dir.clone();
        tracing::warn!(%error, dir = %dir.path().display(), "lost the connection to a shim");
        self.concluding.spawn(async move { conclude(&dir).await });
    }

    fn renew(&mut self) {
        let Some(renewal) = &mut self.renewal else { return };
        renewal.due = Instant::now() + renewal.interval;
        if let Err(error) = self.link.send_now(&Request::Renew) {
            // What became of the shim is for the one who waits for its word.
            tracing::debug!(%error, "a lease was not renewed");
        }
    }

    /// Stops the execution; see [`Stopper::stop`].
    ///
    /// # Errors
    /// As [`Stopper::stop`].
    pub async fn stop(&self, request: StopRequest) -> Result<Closed, StopError> {
        self.stopper.stop(request).await
    }
}

/// How much time each step of a stop gives the agent. A step ends as soon as the agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRequest {
    /// After an interrupt (SIGINT) to the agent; zero leaves the step out.
    pub interrupt_grace: Duration,
    /// After a SIGTERM to every process of the tree; zero leaves the step out.
    pub terminate_grace: Duration,
}

impl StopRequest {
    /// Kills at once.
    pub const FORCE: Self = Self {
        interrupt_grace: Duration::ZERO,
        terminate_grace: Duration::ZERO,
    };

    /// Terminates the whole tree, without an interrupt before, and kills what is left after this time.
    #[must_use]
    pub const fn terminate(grace: Duration) -> Self {
        Self {
            interrupt_grace: Duration::ZERO,
            terminate_grace: grace,
        }
    }
}

impl Default for StopRequest {
    /// 5 s after the interrupt, 10 s after the termination signal.
    fn default() -> Self {
        Self {
            interrupt_grace: Duration::from_secs(5),
            terminate_grace: Duration::from_secs(10),
        }
    }
}

/// Why a stop was not carried to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// The shim answers in a way that does not fit; nothing was signalled.
    #[error("the shim of {} refuses to stop: {reason}", dir.display())]
    Refused {
        /// The execution's directory.
        dir: PathBuf,
        /// What it said.
        reason: String,
    },
    /// The shim is gone or hangs, and what is left could not be established.
    #[error("the end of the execution could not be established")]
    Survey(#[from] SurveyError),
}

/// Stops one execution. Cheap to clone; each stop has a connection of its own.
#[derive(Debug, Clone)]
pub struct Stopper {
    dir: ExecutionDir,
    nonce: String,
}

impl Stopper {
    /// Stops the execution and waits until its tree is closed: interrupt, terminate, force, each after the other's grace.
    ///
    /// The prompt is a file and the agent's whole standard input: there is nothing to write an interrupt to and nothing to close, so the
    /// signals are the first step. Whoever talks to an agent over a channel of its own asks there before.
    ///
    /// A second stop, by anybody, forces at once. Stopping what has ended returns its end. A stop that is dropped goes on.
    /// A shim that does not answer, because it was stopped or hangs, is killed, and its tree is swept here.
    ///
    /// # Errors
    /// See [`StopError`].
    pub async fn stop(&self, request: StopRequest) -> Result<Closed, StopError> {
        let sent = tokio::time::timeout(GREET_LIMIT, async {
            let mut link = Link::connect(&self.dir).await?;
            link.greet(&self.nonce).await?;
            link.send(&Request::Stop {
                interrupt_grace_ms: wire::millis(request.interrupt_grace),
                terminate_grace_ms: wire::millis(request.terminate_grace),
            })
            .await?;
            Ok(link)
        });
        match sent.await {
            Ok(Ok(mut link)) => {
                let graces = request.interrupt_grace.saturating_add(request.terminate_grace);
                let limit = graces.saturating_add(FORCE_LIMIT);
                match tokio::time::timeout(limit, await_closed(&mut link, &self.dir)).await {
                    Ok(closed) => Ok(closed?),
                    Err(_) => Ok(kill_hung(&self.dir).await?),
                }
            }
            // Nobody is there (any more): what is left is for the one who asks to establish.
            Ok(Err(LinkError::Io(_) | LinkError::Ended)) => Ok(conclude(&self.dir).await?),
            Err(_) => Ok(kill_hung(&self.dir).await?),
            Ok(Err(error)) => Err(StopError::Refused {
                dir: self.dir.path().to_path_buf(),
                reason: error.to_string(),
            }),
        }
    }

    fn still_held(&self) -> SurveyError {
        SurveyError::StillHeld {
            dir: self.dir.path().to_path_buf(),
        }
    }

    pub(crate) fn new(dir: &ExecutionDir, spec: &Spec) -> Self {
        Self {
            dir: dir.clone(),
            nonce: spec.nonce.clone(),
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits for the shim to tell the end, or for its own end, and then establishes what is left.
pub(crate) async fn await_closed(link: &mut Link, dir: &ExecutionDir) -> Result<Closed, SurveyError> {
    loop {
        match link.receive().await {
            Ok(Reply::Closed { closed }) => return Ok(closed.into()),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, dir = %dir.path().display(), "lost the connection to a shim");
                return conclude(dir).await;
            }
        }
    }
}

/// Kills the shim of an execution, its identity checked, and establishes the end: the kernel kills the agent with its shim, and
/// the rest of the tree is swept.
pub(crate) async fn kill_hung(dir: &ExecutionDir) -> Result<Closed, SurveyError> {
    let ident = dir.read::<Ident>(dir::IDENT);
    let ident = ident.map_err(|source| SurveyError::of(dir, "read", source))?;
    if let Some(member) = ident.and_then(|ident| ident.shim.pin()) {
        tracing::warn!(dir = %dir.path().display(), "a shim that does not answer is killed");
        member.signal(Signal::KILL);
    }
    conclude(dir).await
}

/// Establishes the end of an execution whose shim is ending or gone.
pub(crate) async fn conclude(dir: &ExecutionDir) -> Result<Closed, SurveyError> {
    let failed = |op| move |source| SurveyError::of(dir, op, source);
    if let Some(ident) = dir.read::<Ident>(dir::IDENT).map_err(failed("read"))? {
        await_end(&ident.shim)
            .await
            .map_err(failed("wait for the shim"))?;
    }
    // Somebody else may settle it at this moment: that ends.
    let deadline = Instant::now() + SETTLE_LIMIT;
    let lock = loop {
        if let Some(lock) = dir.try_lock().map_err(failed("lock"))? {
            break lock;
        }
        if Instant::now() >= deadline {
            return Err(SurveyError::StillHeld {
                dir: dir.path().to_path_buf(),
            });
        }
        tokio::time::sleep(LOCK_RETRY).await;
    };
    let dir_there = dir.clone();
    let settled = tokio::task::spawn_blocking(move || settle(&dir_there, &lock)).await;
    settled
        .map_err(|error| failed("settle")(io::Error::other(error)))?
        .map_err(failed("settle"))
        .map(|it| it.into_closed())
}

/// Waits for the end of a process that should be ending; a while at most.
async fn await_end(process: &ProcessIdentity) -> io::Result<()> {
    if BootId::current()? != *process.boot_id() || Pid::from_raw(process.pid()).is_none() {
        return Ok(());
    }
    let Some(member) = process.pin() else {
        return Ok(());
    };
    let ended = sys::watch(member.pidfd)?;
    // On a time-out the lock says that it is still there.
    match tokio::time::timeout(SHIM_END_LIMIT, ended.readable()).await {
        Ok(ended) => ended.map(drop),
        Err(_) => Ok(()),
    }
}
