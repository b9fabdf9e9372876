//! Starting an execution: first a shim that holds it, then, on GO, the agent.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::closed::{Closed, SpawnFailure};
use crate::dir::{self, ExecutionDir};
use crate::identity::{Protocol, ShimIdentity};
use crate::limits::Limits;
use crate::link::{Link, LinkError, unexpected};
use crate::pause::Pauser;
use crate::program::ShimProgram;
use crate::running::{AgentState, Running, await_closed};
use crate::shim::SHIM_ARGUMENT;
use crate::shortage::is_shortage;
use crate::survey::SurveyError;
use crate::wire::{self, Ident, Phase, Reply, Request, Spec};

/// No prompt may be longer.
pub const MAX_PROMPT_BYTES: usize = 16 << 20;

/// No grace for leftovers is longer.
const MAX_LEAK_GRACE: Duration = Duration::from_secs(60);
/// How long a shim may take until it holds its execution.
const HOLD_LIMIT: Duration = Duration::from_secs(20);
/// How long a shim may take to store a prompt and start the agent.
const GO_LIMIT: Duration = Duration::from_secs(60);

/// What an execution runs, in full: nothing is inherited from the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSpec {
    /// The program (a path, or a name that is looked up in the `PATH` of [`env`](Self::env)) and its arguments.
    pub argv: Vec<OsString>,
    /// The complete environment. `CS_PANEL_EXECUTION` is added.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// How long processes may outlive the agent before they count as leaked and are killed; 60 s at most.
    pub leak_grace: Duration,
    /// What it may use.
    pub limits: Limits,
    /// How its processes are held together.
    pub containment: Containment,
}

/// How the processes of an execution are to be held together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// By the best means that there are; see [`Tier`](crate::Tier).
    #[default]
    Best,
    /// By the shim alone, also where a control group could be made.
    Subreaper,
    /// In a PID namespace of its own, or not at all: see [`Tier::Namespace`](crate::Tier). Where none can be made, which takes root or
    /// that users may make namespaces, and that a `/proc` may be mounted, the hold is refused.
    Namespace,
}

impl ExecutionSpec {
    /// A spec with the usual grace for leftovers, 500 ms, and without limits.
    pub fn new(argv: Vec<OsString>, env: Vec<(OsString, OsString)>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            argv,
            env,
            cwd: cwd.into(),
            leak_grace: Duration::from_millis(500),
            limits: Limits::default(),
            containment: Containment::default(),
        }
    }
}

/// Why no shim holds the execution. Nothing of the agent has run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HoldError {
    /// The spec names no program.
    #[error("the execution names no program")]
    NoProgram,
    /// The directory has served an execution before.
    #[error("the execution directory {} is in use or was used", dir.display())]
    DirectoryUsed {
        /// The directory.
        dir: PathBuf,
    },
    /// What is to hold the execution cannot do what the spec asks for.
    #[error("{feature} cannot be had for the execution")]
    Unsupported {
        /// What was asked for.
        feature: Feature,
        /// Why it cannot be had.
        #[source]
        source: Lack,
    },
    /// The directory cannot be written or locked.
    #[error("the execution directory {} cannot be used: {op}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// What was being done.
        op: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The shim's program could not be started.
    #[error("starting the shim failed")]
    Spawn {
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The shim was started and could not take hold; it has ended.
    #[error("the shim failed: {reason}")]
    Shim {
        /// What it said, or what is known of its end.
        reason: String,
        /// The system's error number; 0 when there is none.
        errno: i32,
    },
    /// The shim did not answer within 20 s. A program that does not call `run_if_requested` looks like this.
    #[error("the shim did not answer in time")]
    NoAnswer,
}

impl HoldError {
    /// Says whether the system was short of something that it may have again: descriptors, memory, processes, disk. Nothing is wrong with
    /// the execution then, and nothing of it is left.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        let errno = match self {
            Self::Directory { source, .. } | Self::Spawn { source } => source.raw_os_error(),
            Self::Shim { errno, .. } => Some(*errno),
            Self::NoProgram | Self::DirectoryUsed { .. } | Self::Unsupported { .. } | Self::NoAnswer => None,
        };
        errno.is_some_and(is_shortage)
    }
}

/// What not every holder of an execution can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// [`ExecutionSpec::limits`] that do anything.
    Limits,
    /// [`Containment::Namespace`].
    Namespace,
}

impl std::fmt::Display for Feature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Limits => "limits and leases",
            Self::Namespace => "a PID namespace",
        })
    }
}

/// Why something cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Lack {
    /// The shim's program was built before there was such a thing.
    #[error("the shim is too old, it speaks version {}.{}", .0.major, .0.minor)]
    TooOld(Protocol),
    /// The system does not allow it, or this user.
    #[error("the system refuses")]
    System(#[source] io::Error),
    /// It takes a shim.
    #[error("it takes a shim")]
    NoShim,
}

/// Why a GO did not lead to a running agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoError {
    /// The prompt is longer than [`MAX_PROMPT_BYTES`]; nothing was started, the execution has ended.
    #[error("the prompt is longer than {MAX_PROMPT_BYTES} bytes")]
    PromptTooLong,
    /// The agent could not be started; the execution is closed.
    #[error("the agent could not be started")]
    SpawnFailed {
        /// Why.
        #[source]
        failure: SpawnFailure,
        /// The end.
        closed: Box<Closed>,
    },
    /// The shim ended before it answered; the execution is closed. Whether the agent ran is in its exit.
    #[error("the shim ended before the agent was known to run")]
    ShimEnded {
        /// The end.
        closed: Box<Closed>,
    },
    /// The shim could not store the prompt or record the agent; the execution is closed.
    #[error("the shim could not {op}")]
    NotStored {
        /// What it could not do.
        op: String,
        /// The system's error.
        #[source]
        source: io::Error,
        /// The end.
        closed: Box<Closed>,
    },
    /// It is not known what happened: [`survey`](crate::survey()) the directory.
    #[error("whether the agent was started is not known")]
    Unknown {
        /// What went wrong.
        #[source]
        source: io::Error,
    },
}

/// An execution that waits for its GO. When this is dropped, or our process dies, the shim ends and nothing has run.
#[derive(Debug)]
pub struct Held {
    link: Link,
    dir: ExecutionDir,
    identity: ShimIdentity,
    spec: Spec,
    ident: Ident,
}

/// Starts a shim for an execution. On return it holds the lock, its identity is durable, and it waits for GO.
///
/// `dir` must exist and be new. A crash of the caller at any point leaves either nothing or a shim that ends itself.
///
/// # Errors
/// See [`HoldError`]; the directory may be removed then.
pub async fn hold(
    program: &ShimProgram,
    dir: &ExecutionDir,
    spec: &ExecutionSpec,
) -> Result<Held, HoldError> {
    if spec.argv.is_empty() {
        return Err(HoldError::NoProgram);
    }
    let (there, spec) = (dir.clone(), spec.clone());
    let written = tokio::task::spawn_blocking(move || write_spec(&there, &spec)).await;
    let spec = written.map_err(|error| HoldError::Spawn {
        source: io::Error::other(error),
    })??;
    let (ours, theirs) =
        std::os::unix::net::UnixStream::pair().map_err(|source| HoldError::Spawn { source })?;
    let mut link = Link::over(ours).map_err(|source| HoldError::Spawn { source })?;
    let launcher = launch(program, dir, theirs.into())?;
    let greeted = tokio::time::timeout(HOLD_LIMIT, link.greet(&spec.nonce)).await;
    // What was started only forks and ends, whatever became of the shim; dropping it would kill it.
    let outcome = match greeted {
        Err(_) => Err(HoldError::NoAnswer),
        Ok(Err(LinkError::Broken {
            errno,
            lacks: Some(feature),
            ..
        })) => Err(HoldError::Unsupported {
            feature,
            source: Lack::System(io::Error::from_raw_os_error(errno)),
        }),
        Ok(Err(error)) => Err(refused(error)),
        Ok(Ok((ident, Phase::Held))) => Ok(ident),
        Ok(Ok((_, Phase::Running { .. } | Phase::Closing { .. }))) => Err(HoldError::Shim {
            reason: "it does not wait for its GO".to_owned(),
            errno: 0,
        }),
    };
    reap(launcher, outcome.is_ok()).await;
    let ident: Ident = outcome?;
    if let Some(feature) = asked_of(&spec, ident.protocol) {
        // It reads on that nobody wants it any more, and ends.
        return Err(HoldError::Unsupported {
            feature,
            source: Lack::TooOld(ident.protocol),
        });
    }
    Ok(Held {
        link,
        dir: dir.clone(),
        identity: ShimIdentity {
            process: ident.shim.clone(),
            protocol: ident.protocol,
            cookie: Some(ident.cookie.clone()),
        },
        spec,
        ident,
    })
}

impl Held {
    /// Which process holds the execution.
    #[must_use]
    pub fn identity(&self) -> &ShimIdentity {
        &self.identity
    }

    /// Authorises the agent to run, with its prompt (0 bytes to 16 MiB) on standard input. On return it runs.
    ///
    /// # Errors
    /// See [`GoError`]. No second GO is possible.
    pub async fn go(mut self, prompt: &[u8]) -> Result<Running, GoError> {
        if prompt.len() > MAX_PROMPT_BYTES {
            self.abandon().await.map_err(unknown)?;
            return Err(GoError::PromptTooLong);
        }
        let answered = tokio::time::timeout(GO_LIMIT, async {
            self.link
                .send(&Request::Go {
                    prompt_bytes: prompt.len() as u64,
                })
                .await?;
            if let Err(error) = self.link.send_raw(prompt).await {
                // A shim that cannot take the prompt says so before it has read all of it.
                tracing::debug!(%error, "the prompt was not taken to its end");
            }
            self.link.receive().await
        });
        match answered.await {
            Ok(Ok(Reply::Started { agent, paused, tier })) => {
                let state = AgentState { agent, paused, tier };
                Ok(Running::new(self.link, &self.dir, &self.spec, &self.ident, state))
            }
            Ok(Ok(Reply::SpawnFailed { failure })) => {
                let closed = await_closed(&mut self.link, &self.dir).await.map_err(unknown)?;
                Err(GoError::SpawnFailed {
                    failure,
                    closed: Box::new(closed),
                })
            }
            Ok(Ok(Reply::Broken { op, errno, .. })) => {
                let closed = await_closed(&mut self.link, &self.dir).await.map_err(unknown)?;
                let source = io::Error::from_raw_os_error(errno);
                Err(GoError::NotStored {
                    op,
                    source,
                    closed: Box::new(closed),
                })
            }
            Ok(Ok(Reply::Closed { closed })) => Err(GoError::ShimEnded {
                closed: Box::new(closed.into()),
            }),
            Ok(Ok(other)) => Err(GoError::Unknown {
                source: io::Error::other(unexpected(other)),
            }),
            Ok(Err(LinkError::Ended | LinkError::Io(_))) => {
                let closed = await_closed(&mut self.link, &self.dir).await.map_err(unknown)?;
                Err(GoError::ShimEnded {
                    closed: Box::new(closed),
                })
            }
            Ok(Err(error)) => Err(GoError::Unknown {
                source: io::Error::other(error),
            }),
            Err(_) => Err(GoError::Unknown {
                source: io::ErrorKind::TimedOut.into(),
            }),
        }
    }

    /// A handle that pauses the execution as soon as its agent runs, or at any time later.
    #[must_use]
    pub fn pauser(&self) -> Pauser {
        Pauser::new(&self.dir, &self.spec.nonce)
    }

    /// Ends the execution without a GO and waits for its end: its exit is `NeverStarted`.
    ///
    /// # Errors
    /// The end could not be established.
    pub async fn abandon(mut self) -> Result<Closed, SurveyError> {
        let stop = Request::Stop {
            interrupt_grace_ms: 0,
            terminate_grace_ms: 0,
        };
        if let Err(error) = self.link.send(&stop).await {
            tracing::debug!(%error, "the shim was gone before it was told to end");
        }
        await_closed(&mut self.link, &self.dir).await
    }
}

pub(crate) fn unknown(error: SurveyError) -> GoError {
    GoError::Unknown {
        source: io::Error::other(error),
    }
}

pub(crate) fn write_spec(dir: &ExecutionDir, spec: &ExecutionSpec) -> Result<Spec, HoldError> {
    let failed = |op| {
        move |source| HoldError::Directory {
            dir: dir.path().to_path_buf(),
            op,
            source,
        }
    };
    if dir.holds(dir::SPEC).map_err(failed("read"))? || dir.holds(dir::CLOSED).map_err(failed("read"))? {
        return Err(HoldError::DirectoryUsed {
            dir: dir.path().to_path_buf(),
        });
    }
    let file = Spec {
        protocol: Protocol::CURRENT,
        nonce: random_name().map_err(failed("draw a nonce"))?,
        cookie: random_name().map_err(failed("draw a cookie"))?,
        argv: spec.argv.clone(),
        env: spec.env.clone(),
        cwd: spec.cwd.clone(),
        leak_grace_ms: wire::millis(spec.leak_grace.min(MAX_LEAK_GRACE)),
        limits: spec.limits.into(),
        containment: spec.containment,
    };
    dir.write_durably(dir::SPEC, &file).map_err(failed("write"))?;
    Ok(file)
}

/// What a spec asks for that a shim of this version would not do, without saying so.
fn asked_of(spec: &Spec, protocol: Protocol) -> Option<Feature> {
    let (feature, since) = match spec.containment {
        Containment::Namespace => (Feature::Namespace, Protocol::WITH_NAMESPACE),
        // A shim that knows no control groups holds what it can, alone.
        Containment::Best | Containment::Subreaper if Limits::from(spec.limits).does_anything() => {
            (Feature::Limits, Protocol::WITH_PAUSE)
        }
        Containment::Best | Containment::Subreaper => return None,
    };
    (protocol < since).then_some(feature)
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Starts the shim's program with its end of the first connection as standard input.
fn launch(
    program: &ShimProgram,
    dir: &ExecutionDir,
    connection: OwnedFd,
) -> Result<tokio::process::Child, HoldError> {
    #[expect(clippy::disallowed_methods, reason = "this is where shims are started")]
    let mut command = tokio::process::Command::new(program.path());
    command
        .arg0("cs-shim")
        .arg(SHIM_ARGUMENT)
        .arg(dir.path())
        .env_clear();
    if let Some(most) = program.open_files() {
        command.arg(most.to_string());
    }
    command
        .stdin(Stdio::from(connection))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command.spawn().map_err(|source| HoldError::Spawn { source })
}

/// Reaps the process that forked the shim; kills it when it did not become what it was started for.
async fn reap(mut launcher: tokio::process::Child, useful: bool) {
    if !useful && let Err(error) = launcher.start_kill() {
        tracing::debug!(%error, "the shim's launcher had already ended");
    }
    if let Err(error) = launcher.wait().await {
        // So it is where SIGCHLD is ignored: the kernel has reaped it.
        tracing::debug!(%error, "the shim's launcher was reaped by somebody else");
    }
}

fn refused(error: LinkError) -> HoldError {
    let errno = match &error {
        LinkError::Broken { errno, .. } => *errno,
        LinkError::Io(source) => source.raw_os_error().unwrap_or(0),
        LinkError::Ended
        | LinkError::Foreign
        | LinkError::Refused(_)
        | LinkError::Unfit(_)
        | LinkError::NotUnderstood(_) => 0,
    };
    HoldError::Shim {
        reason: error.to_string(),
        errno,
    }
}
