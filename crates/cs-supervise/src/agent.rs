//! Starting an agent and seeing its end, for a shim and for a process that supervises without one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::cgroup::Cgroup;
use crate::closed::{AgentExit, SpawnFailure, SpawnReason};
use crate::dir::{self, ExecutionDir};
use crate::identity::{BootId, ProcessIdentity};
use crate::sys::{self, Bond};
use crate::tree;
use crate::wire::{COOKIE_VARIABLE, Spec};

/// A started agent. It stays unreaped until its exit is stored, so its number means nobody else.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    pub(crate) identity: ProcessIdentity,
}

/// Where an agent is born.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// In this boot.
    pub(crate) boot_id: &'a BootId,
    /// In this control group, if in one of its own.
    pub(crate) group: Option<&'a Cgroup>,
    /// So bound to who starts it.
    pub(crate) bond: Bond,
}

/// Why there is no agent.
#[derive(Debug)]
pub(crate) enum NoAgent {
    /// Nothing of it ever ran.
    NeverBegan(SpawnFailure),
    /// It ran and could not be held; it was killed. Processes that it had started may be left.
    Lost(SpawnFailure),
}

impl Agent {
    /// Starts the agent of a spec, its prompt on standard input.
    pub(crate) fn start(dir: &ExecutionDir, spec: &Spec, place: Place<'_>) -> Result<Self, NoAgent> {
        let child = spawn(dir, spec, place).map_err(NoAgent::NeverBegan)?;
        Self::hold(child, |pid| ProcessIdentity::of(place.boot_id, pid)).map_err(NoAgent::Lost)
    }

    /// Takes hold of a process that was just started. One that cannot be held is killed and reaped.
    fn hold(
        mut child: Child,
        identify: impl FnOnce(Pid) -> io::Result<Option<ProcessIdentity>>,
    ) -> Result<Self, SpawnFailure> {
        let held = pin(&child, identify);
        if held.is_err() {
            // Neither fails for a child that is not reaped yet.
            let _: io::Result<()> = child.kill();
            let _: io::Result<ExitStatus> = child.wait();
        }
        // Else it is dropped unreaped: it is waited for through its pidfd.
        held
    }

    /// How the agent ended; `None` while it has not. It stays unreaped, unless somebody else has reaped it: then nobody knows how it
    /// ended, and its number may be given to another.
    pub(crate) fn exit(&self) -> Option<AgentExit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = match waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
            Ok(status) => status?,
            Err(Errno::CHILD) => return Some(AgentExit::Unknown),
            Err(_) => return None,
        };
        Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => AgentExit::Exited(code),
            (None, Some(signal)) => AgentExit::Signalled(signal),
            (None, None) => AgentExit::Unknown,
        })
    }

    /// Waits for the end of what was killed, so long at most, and reaps it: only now may its number be given to another.
    pub(crate) fn reap_within(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or_default();
            match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&left)) {
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        // What has not ended, or was reaped by somebody else, is left alone.
        let _: rustix::io::Result<_> = waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
    }
}

fn spawn(dir: &ExecutionDir, spec: &Spec, place: Place<'_>) -> Result<Child, SpawnFailure> {
    let entrance = place.group.map(Cgroup::entrance).transpose();
    let entrance = entrance.map_err(|error| system(&error))?;
    let (program, arguments) = spec
        .argv
        .split_first()
        .ok_or_else(|| failure(SpawnReason::ProgramNotFound, 0))?;
    let stdin = File::open(dir.file(dir::STDIN)).map_err(|error| system(&error))?;
    let stdout = ExecutionDir::open_spool(&dir.stdout_spool()).map_err(|error| system(&error))?;
    let stderr = ExecutionDir::open_spool(&dir.stderr_spool()).map_err(|error| system(&error))?;
    #[expect(clippy::disallowed_methods, reason = "this is where agents are started")]
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.env(COOKIE_VARIABLE, &spec.cookie).current_dir(&spec.cwd);
    command
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    sys::start_as_agent(&mut command, place.bond, entrance);
    command.spawn().map_err(|error| explain(spec, program, &error))
}

fn pin(
    child: &Child,
    identify: impl FnOnce(Pid) -> io::Result<Option<ProcessIdentity>>,
) -> Result<Agent, SpawnFailure> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| failure(SpawnReason::System, 0))?;
    let pidfd = tree::open(pid).ok_or_else(|| failure(SpawnReason::System, libc::EMFILE))?;
    let identity = identify(pid).map_err(|error| system(&error))?;
    let identity = identity.ok_or_else(|| failure(SpawnReason::System, libc::ESRCH))?;
    Ok(Agent { pid, pidfd, identity })
}

fn failure(reason: SpawnReason, errno: i32) -> SpawnFailure {
    SpawnFailure { reason, errno }
}

fn system(error: &io::Error) -> SpawnFailure {
    failure(SpawnReason::System, error.raw_os_error().unwrap_or(0))
}

/// The kernel gives the same error for several reasons; looking at the files tells them apart.
fn explain(spec: &Spec, program: &OsStr, error: &io::Error) -> SpawnFailure {
    let errno = error.raw_os_error().unwrap_or(0);
    if let Err(error) = fs::read_dir(&spec.cwd) {
        return failure(
            SpawnReason::WorkingDirectory,
            error.raw_os_error().unwrap_or(errno),
        );
    }
    let reason = match errno {
        libc::ENOENT if is_there(spec, program) => SpawnReason::InterpreterNotFound,
        libc::ENOENT | libc::ENOTDIR => SpawnReason::ProgramNotFound,
        libc::EACCES | libc::EPERM | libc::ENOEXEC | libc::EISDIR => SpawnReason::NotExecutable,
        libc::ELIBBAD | libc::ELOOP => SpawnReason::NotExecutable,
        libc::E2BIG => SpawnReason::ArgumentsTooLong,
        _ => SpawnReason::System,
    };
    failure(reason, errno)
}

fn is_there(spec: &Spec, program: &OsStr) -> bool {
    let program = Path::new(program);
    if program.components().count() > 1 || program.is_absolute() {
        return spec.cwd.join(program).exists();
    }
    let path = spec
        .env
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value);
    path.is_some_and(|path| {
        std::env::split_paths(path)
            .map(|it: PathBuf| it.join(program))
            .any(|it| it.is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that goes on until it is killed.
    fn endless() -> Child {
        #[expect(clippy::disallowed_methods, reason = "stands for an agent")]
        let mut command = Command::new("/bin/cat");
        command.stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_started_process_that_cannot_be_held_is_killed_and_reaped() {
        for unheld in [Err(io::Error::from_raw_os_error(libc::EMFILE)), Ok(None)] {
            let mut child = endless();
            // Kept open, so that it does not end by itself.
            let stdin = child.stdin.take();
            let pid = child.id();
            let failure = Agent::hold(child, |_| unheld).unwrap_err();
            assert_eq!(failure.reason, SpawnReason::System);
            assert!(!Path::new(&format!("/proc/{pid}")).exists());
            drop(stdin);
        }
    }
}
