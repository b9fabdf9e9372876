//! Executions without a shim, for programs that want no process of ours beside them.
//!
//! What they miss: nobody guards the agent when this process dies. It goes on, nobody keeps its limits or records its exit, and nothing
//! ends it until a [`survey`](crate::survey()) of its directory finds the lock free and sweeps what is left. Orphans of the agent fall to
//! the system's first process, not to us, so the end is proven by a sweep alone ([`Proof::SweepClean`](crate::Proof)): a process that has
//! cleared its environment and became an orphan before it was seen is not found. Nothing of this process is changed: no signal handler, no
//! subreaper, and no child of it but the agent is waited for.

mod keeping;

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::agent::{Agent, NoAgent, Place};
use crate::cgroup::Tier;
use crate::clock;
use crate::closed::{AgentExit, Closed, SpawnFailure};
use crate::dir::{self, Aside, ExecutionDir, Lock};
use crate::hold::{
    self, Containment, ExecutionSpec, Feature, GoError, HoldError, Lack, MAX_PROMPT_BYTES, write_spec,
};
use crate::identity::{BootId, ProcessIdentity, Protocol};
use crate::running::{Running, StopError, StopRequest};
use crate::settle::settle;
use crate::survey::SurveyError;
use crate::sys::Bond;
use crate::wire::{self, ExitRecord, Keeper, Spec};
use keeping::Keeping;

/// So many stops may be asked for at once; who asks then has been heard already.
const STOPS_MAX: usize = 16;

/// An execution whose agent was started, with a shim or without one.
#[async_trait]
pub trait Execution: std::fmt::Debug + Send + Sync {
    /// Which process the agent is. It may have ended.
    fn agent(&self) -> &ProcessIdentity;

    /// What holds its processes together.
    fn tier(&self) -> Tier;

    /// Waits until the whole tree is closed. Cancel safe; later calls return the same.
    ///
    /// # Errors
    /// The end could not be established.
    async fn closed(&mut self) -> Result<Closed, SurveyError>;

    /// Stops the execution and waits until its tree is closed. A second stop forces at once; stopping what has ended returns its end.
    ///
    /// # Errors
    /// See [`StopError`].
    async fn stop(&self, request: StopRequest) -> Result<Closed, StopError>;
}

#[async_trait]
impl Execution for Running {
    fn agent(&self) -> &ProcessIdentity {
        Self::agent(self)
    }

    fn tier(&self) -> Tier {
        Self::tier(self)
    }

    async fn closed(&mut self) -> Result<Closed, SurveyError> {
        Self::closed(self).await
    }

    async fn stop(&self, request: StopRequest) -> Result<Closed, StopError> {
        Self::stop(self, request).await
    }
}

#[async_trait]
impl Execution for RunningInProcess {
    fn agent(&self) -> &ProcessIdentity {
        &self.agent
    }

    fn tier(&self) -> Tier {
        Tier::InProcess
    }

    async fn closed(&mut self) -> Result<Closed, SurveyError> {
        self.outcome.clone().get(&self.dir).await
    }

    async fn stop(&self, request: StopRequest) -> Result<Closed, StopError> {
        // Nobody to ask means that the end is there; no room, that a force is on its way.
        let _: Result<(), mpsc::error::TrySendError<_>> = self.stops.try_send(request);
        Ok(self.outcome.clone().get(&self.dir).await?)
    }
}

/// An execution that this process holds and that waits for its GO. When this is dropped, nothing has run.
#[derive(Debug)]
pub struct HeldInProcess {
    dir: ExecutionDir,
    spec: Spec,
    boot_id: BootId,
    lock: Lock,
}

/// An execution that this process supervises. A task of the runtime in which it got its GO does the work. When this is dropped, or that
/// runtime ends, the agent and what is below it are killed, and the directory waits for a [`survey`](crate::survey()).
#[derive(Debug)]
pub struct RunningInProcess {
    dir: ExecutionDir,
    agent: ProcessIdentity,
    stops: mpsc::Sender<StopRequest>,
    outcome: Outcome,
    _keeping: JoinSet<()>,
}

/// Holds an execution in this process: on return it has the lock, and its identity is durable. The directory must exist and be new. Must
/// be called within a tokio runtime.
///
/// # Errors
/// [`HoldError::Unsupported`] for limits, leases that do more than go on, and containment that takes a shim; otherwise as
/// [`hold`](crate::hold()).
pub async fn hold_in_process(dir: &ExecutionDir, spec: &ExecutionSpec) -> Result<HeldInProcess, HoldError> {
    if spec.argv.is_empty() {
        return Err(HoldError::NoProgram);
    }
    if let Some(feature) = missed(spec) {
        return Err(HoldError::Unsupported {
            feature,
            source: Lack::NoShim,
        });
    }
    let (dir, spec) = (dir.clone(), spec.clone());
    let held = tokio::task::spawn_blocking(move || take(dir, &spec)).await;
    held.map_err(|error| HoldError::Spawn { source: error.into() })?
}

/// What an execution asks for that only a shim can do.
fn missed(spec: &ExecutionSpec) -> Option<Feature> {
    match spec.containment {
        Containment::Best | Containment::Subreaper => {}
        Containment::Namespace => return Some(Feature::Namespace),
    }
    spec.limits.does_anything().then_some(Feature::Limits)
}

fn take(dir: ExecutionDir, spec: &ExecutionSpec) -> Result<HeldInProcess, HoldError> {
    let there = dir.path().to_path_buf();
    let failed = |op| {
        let dir = there.clone();
        move |source| HoldError::Directory { dir, op, source }
    };
    let lock = dir.try_lock().map_err(failed("lock"))?;
    let lock = lock.ok_or_else(|| HoldError::DirectoryUsed { dir: there.clone() })?;
    let spec = write_spec(&dir, spec)?;
    for spool in [dir.stdout_spool(), dir.stderr_spool()] {
        ExecutionDir::open_spool(&spool).map_err(failed("open a spool"))?;
    }
    let boot_id = BootId::current().map_err(failed("read the boot id"))?;
    let process = ProcessIdentity::of(&boot_id, rustix::process::getpid());
    let process = process.and_then(|it| it.ok_or_else(|| io::ErrorKind::NotFound.into()));
    let keeper = Keeper {
        protocol: Protocol::CURRENT,
        process: process.map_err(failed("identify this process"))?,
    };
    dir.write_durably(dir::KEEPER, &keeper).map_err(failed("write"))?;
    Ok(HeldInProcess {
        dir,
        spec,
        boot_id,
        lock,
    })
}

impl HeldInProcess {
    /// Authorises the agent to run, with its prompt (0 bytes to 16 MiB) on standard input. On return it runs.
    ///
    /// # Errors
    /// See [`GoError`].
    pub async fn go(self, prompt: &[u8]) -> Result<RunningInProcess, GoError> {
        if prompt.len() > MAX_PROMPT_BYTES {
            self.abandon().await.map_err(hold::unknown)?;
            return Err(GoError::PromptTooLong);
        }
        let prompt = prompt.to_vec();
        let started = tokio::task::spawn_blocking(move || self.start(&prompt)).await;
        let (keeping, agent) = started.map_err(|error| GoError::Unknown { source: error.into() })??;
        let dir = keeping.dir().clone();
        let (stops, asked) = mpsc::channel(STOPS_MAX);
        let (tell, outcome) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let ended = keeping.keep(asked).await;
            // Nobody may be left who wants to know; the end is written.
            let _ = tell.send(Some(ended.map_err(Arc::new)));
        });
        Ok(RunningInProcess {
            dir,
            agent,
            stops,
            outcome: Outcome(outcome),
            _keeping: task,
        })
    }

    /// Ends the execution without a GO: its exit is `NeverStarted`.
    ///
    /// # Errors
    /// The end could not be written.
    pub async fn abandon(self) -> Result<Closed, SurveyError> {
        let dir = self.dir.clone();
        let ended = tokio::task::spawn_blocking(move || settle(&self.dir, &self.lock)).await;
        let ended = ended.map_err(io::Error::from).and_then(|settled| settled);
        ended
            .map(crate::settle::Settled::into_closed)
            .map_err(|source| SurveyError::of(&dir, "settle", source))
    }

    fn start(self, prompt: &[u8]) -> Result<(Keeping, ProcessIdentity), GoError> {
        let stored = Aside::create(&self.dir, dir::STDIN).and_then(|mut aside| {
            io::Write::write_all(&mut aside.file, prompt)?;
            aside.publish()
        });
        if let Err(source) = stored {
            return Err(self.not_stored("store the prompt", source));
        }
        let place = Place {
            boot_id: &self.boot_id,
            group: None,
            bond: Bond::LivesOn,
        };
        let agent = match Agent::start(&self.dir, &self.spec, place) {
            Ok(agent) => agent,
            Err(NoAgent::NeverBegan(failure) | NoAgent::Lost(failure)) => {
                return Err(self.not_started(failure));
            }
        };
        let identity = agent.identity.clone();
        let record = wire::Agent {
            agent: identity.clone(),
        };
        let written = self.dir.write_durably(dir::AGENT, &record);
        let keeping = Keeping::new(self.dir, self.spec, self.boot_id, agent, self.lock);
        match written {
            Ok(()) => Ok((keeping, identity)),
            // An agent that is not on record must not work.
            Err(source) => match keeping.end_unrecorded() {
                Ok(closed) => Err(GoError::NotStored {
                    op: "record the agent".to_owned(),
                    source,
                    closed: Box::new(closed),
                }),
                Err(source) => Err(GoError::Unknown { source }),
            },
        }
    }

    fn not_stored(self, op: &str, source: io::Error) -> GoError {
        match settle(&self.dir, &self.lock) {
            Ok(settled) => GoError::NotStored {
                op: op.to_owned(),
                source,
                closed: Box::new(settled.into_closed()),
            },
            Err(source) => GoError::Unknown { source },
        }
    }

    fn not_started(self, failure: SpawnFailure) -> GoError {
        let record = ExitRecord {
            exit: AgentExit::SpawnFailed(failure.clone()),
            stopped_by_us: false,
            ended_at_unix_micros: clock::unix_micros(),
            limit: None,
            worked_ms: None,
            text: Some(failure.to_string()),
        };
        let settled = self.dir.write_durably(dir::EXIT, &record);
        match settled.and_then(|()| settle(&self.dir, &self.lock)) {
            Ok(settled) => GoError::SpawnFailed {
                failure,
                closed: Box::new(settled.into_closed()),
            },
            Err(source) => GoError::Unknown { source },
        }
    }
}

/// How it ended, once it has.
#[derive(Debug, Clone)]
struct Outcome(watch::Receiver<Option<Result<Closed, Arc<io::Error>>>>);

impl Outcome {
    async fn get(&mut self, dir: &ExecutionDir) -> Result<Closed, SurveyError> {
        let failed = |source| SurveyError::of(dir, "settle", source);
        match self.0.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(closed))) => Ok(closed.clone()),
            Ok(Some(Err(error))) => Err(failed(io::Error::new(error.kind(), Arc::clone(error)))),
            Ok(None) | Err(_) => Err(failed(io::Error::other("its supervision was given up"))),
        }
    }
}
