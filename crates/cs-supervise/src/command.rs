//! Short commands: a program that is over within seconds, whose whole output is wanted.
//!
//! For git, probes and the like. An agent is not a short command: it needs an execution that outlives its starter.
//!
//! A command runs in a process group of its own. When its time is up, when it says too much or when the caller
//! drops the future, the group and everything found below the leader is killed, before the leader is reaped (a
//! reaped leader's number may belong to a stranger). A process that left the group *and* was orphaned before that
//! moment is found by [`run_swept`] only. A command also outlives a starter that dies hard: the kernel's parent-death signal is tied
//! to the starting thread, and under tokio such a thread may end at any time.

mod pipes;
mod swept;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::unix::AsyncFd;
use tokio::process::Child;
use tokio::time::Instant;

use crate::{sys, tree};
use pipes::{Pipes, PumpError, Pumped};
pub use swept::run_swept;

/// How long output may still come after the leader's end, while some process keeps the pipes open.
const DRAIN_GRACE: Duration = Duration::from_millis(500);

/// A short command, in full: nothing is inherited from the caller.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The program: a path, or a name that is looked up in the `PATH` of [`env`](Self::env).
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory; it must exist.
    pub cwd: PathBuf,
    /// What the program reads from its standard input before it sees the end.
    pub stdin: Vec<u8>,
    /// The time after which the tree is killed.
    pub timeout: Duration,
    /// More standard output than this kills the tree.
    pub stdout_cap_bytes: usize,
    /// Of the standard error, this many last bytes are kept.
    pub stderr_cap_bytes: usize,
}

/// A command that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output, at most the cap.
    pub stdout: Vec<u8>,
    /// The tail of its standard error, at most the cap.
    pub stderr: Vec<u8>,
    /// From the spawn to the end.
    pub duration: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// Some signal killed it, not ours.
    Signalled(i32),
    /// Its time was up and the tree was killed.
    TimedOut,
    /// It wrote more standard output than allowed and the tree was killed.
    OutputOverCap,
}

/// Why a command could not be run to an end. None of these says anything about what the program would have done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no such program.
    #[error("program {} was not found", program.display())]
    NotFound {
        /// The program as the spec names it.
        program: PathBuf,
    },
    /// The program is there but cannot be executed: no permission, no known format, or its interpreter is missing.
    #[error("program {} cannot be executed", program.display())]
    NotExecutable {
        /// The program as the spec names it.
        program: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The working directory is missing or not accessible.
    #[error("working directory {} cannot be used", cwd.display())]
    Cwd {
        /// The directory as the spec names it.
        cwd: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The system refused to start a process.
    #[error("starting {} failed", program.display())]
    Spawn {
        /// The program as the spec names it.
        program: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Talking to the running program failed; its tree was killed.
    #[error("{op} of {} failed", program.display())]
    Io {
        /// What was being done: `wait`, `read`, `write` or `sweep`.
        op: &'static str,
        /// The program as the spec names it.
        program: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// Runs a command to its end.
///
/// Standard input is written while output is read, so no amount of either blocks; a program that does not read its
/// input is no error. A process that keeps the pipes open after the leader's end delays the result by at most a second.
/// Dropping the future kills the tree.
///
/// # Errors
/// See [`CommandError`]. An exit code other than 0 is no error.
pub async fn run(spec: &CommandSpec) -> Result<Finished, CommandError> {
    let started = Instant::now();
    let mut leader = Leader::spawn(spec)?;
    let mut pipes = Pipes::of(&mut leader.child, spec);
    let cut = race(spec, started, &leader, &mut pipes).await?;
    if cut.is_some() {
        tree::kill_with_leader(leader.pid, leader.pidfd.get_ref());
    }
    let over_cap = drain(&mut pipes, &leader)
        .await
        .map_err(|failure| failure.of(spec))?;
    let status = leader
        .reap()
        .await
        .map_err(|source| io_error(spec, "wait", source))?;
    let (stdout, stderr) = pipes.into_output();
    let exit = match cut {
        Some(cut) => cut,
        None if over_cap => Exit::OutputOverCap,
        None => natural(status),
    };
    Ok(Finished {
        exit,
        stdout,
        stderr,
        duration: started.elapsed(),
    })
}

/// Pumps until the leader ends by itself (`None`) or has to be ended.
async fn race(
    spec: &CommandSpec,
    started: Instant,
    leader: &Leader,
    pipes: &mut Pipes<'_>,
) -> Result<Option<Exit>, CommandError> {
    let mut deadline = std::pin::pin!(tokio::time::sleep_until(started + spec.timeout));
    loop {
        tokio::select! {
            biased;
            pumped = pipes.pump(), if !pipes.is_done() => match pumped.map_err(|failure| failure.of(spec))? {
                Pumped::OverCap => return Ok(Some(Exit::OutputOverCap)),
                Pumped::Done => {}
            },
            ended = leader.ended() => return ended.map(|()| None).map_err(|source| io_error(spec, "wait", source)),
            () = deadline.as_mut() => return Ok(Some(Exit::TimedOut)),
        }
    }
}

/// Reads what is left after the leader's end, kills its group and says whether the output went over its cap.
async fn drain(pipes: &mut Pipes<'_>, leader: &Leader) -> Result<bool, PumpError> {
    pipes.close_stdin();
    let mut over_cap = false;
    for _ in 0..2 {
        // An elapsed grace means that somebody still holds the pipe: the group is killed and gets one more.
        if let Ok(pumped) = tokio::time::timeout(DRAIN_GRACE, pipes.pump()).await {
            over_cap = matches!(pumped?, Pumped::OverCap);
            break;
        }
        tree::kill_group(leader.pid, leader.pidfd.get_ref());
    }
    tree::kill_group(leader.pid, leader.pidfd.get_ref());
    Ok(over_cap)
}

/// A running command's leader. Until it is reaped its number is pinned, and dropping this kills its tree.
#[derive(Debug)]
struct Leader {
    child: Child,
    pid: Pid,
    pidfd: AsyncFd<OwnedFd>,
    reaped: bool,
}

impl Leader {
    fn spawn(spec: &CommandSpec) -> Result<Self, CommandError> {
        let stdin = if spec.stdin.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "this is where short commands are started"
        )]
        let mut command = tokio::process::Command::new(&spec.program);
        command
            .args(&spec.args)
            .env_clear()
            .envs(spec.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(&spec.cwd).process_group(0).kill_on_drop(true);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|source| spawn_error(spec, source))?;
        let pidfd = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .and_then(|pid| {
                let pidfd = tree::open(pid)?;
                Some((pid, sys::watch(pidfd).ok()?))
            });
        if let Some((pid, pidfd)) = pidfd {
            return Ok(Self {
                child,
                pid,
                pidfd,
                reaped: false,
            });
        }
        // Not watchable, so not ours to run: descriptors are used up, or the kernel has no pidfds.
        let source = io::Error::other("the new process cannot be watched");
        if let Err(error) = child.start_kill() {
            tracing::debug!(%error, "an unwatchable command was already gone");
        }
        Err(CommandError::Spawn {
            program: spec.program.clone(),
            source,
        })
    }

    /// Returns when the leader has ended; it stays unreaped.
    async fn ended(&self) -> io::Result<()> {
        self.pidfd.readable().await.map(drop)
    }

    async fn reap(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.reaped = true;
        status
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if !self.reaped {
            tree::kill_with_leader(self.pid, self.pidfd.get_ref());
        }
    }
}

fn natural(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signalled(signal),
        (None, None) => Exit::Code(status.into_raw()),
    }
}

fn spawn_error(spec: &CommandSpec, source: io::Error) -> CommandError {
    if let Err(source) = std::fs::read_dir(&spec.cwd) {
        return CommandError::Cwd {
            cwd: spec.cwd.clone(),
            source,
        };
    }
    let program = spec.program.clone();
    match source.kind() {
        // The kernel says the same of a missing program and of a missing interpreter of a program that is there.
        io::ErrorKind::NotFound if program.is_absolute() && program.exists() => {
            CommandError::NotExecutable { program, source }
        }
        io::ErrorKind::NotFound => CommandError::NotFound { program },
        io::ErrorKind::PermissionDenied => CommandError::NotExecutable { program, source },
        _ if source.raw_os_error() == Some(libc::ENOEXEC) => CommandError::NotExecutable { program, source },
        _ => CommandError::Spawn { program, source },
    }
}

fn io_error(spec: &CommandSpec, op: &'static str, source: io::Error) -> CommandError {
    CommandError::Io {
        op,
        program: spec.program.clone(),
        source,
    }
}
