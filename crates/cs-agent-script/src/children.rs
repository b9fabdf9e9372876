//! The processes that a script starts. Each is this program again, with a flag: forking by hand would need `unsafe`.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use crate::run::pause;
use crate::script::{Spawn, SpawnKind};

/// The first argument of a process that was started with its signals ignored.
pub(crate) const SIGNALS_IGNORED: &str = "--signals-ignored";
const LINGER: &str = "--linger";
const LINGER_SETSID: &str = "--linger-setsid";
const FORK_AGAIN: &str = "--fork-again";

/// A child's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Says its process id and lives for so many seconds.
    Linger(u64),
    /// The same in a session of its own.
    LingerSetsid(u64),
    /// Begins a session, starts a process that lingers, and exits.
    ForkAgain(u64),
}

/// How this program is started again.
#[derive(Debug)]
pub(crate) struct Relaunch {
    program: io::Result<PathBuf>,
    leading: Vec<OsString>,
}

impl Relaunch {
    /// `own_args`: how many arguments at the end of the command line are the scripted agent's.
    pub(crate) fn of_this_process(own_args: usize) -> Self {
        let mut leading: Vec<OsString> = env::args_os().skip(1).collect();
        leading.truncate(leading.len().saturating_sub(own_args));
        Self {
            program: env::current_exe(),
            leading,
        }
    }

    /// Becomes the same process with INT, TERM and HUP ignored, before anything was read. Returns only when it failed.
    ///
    /// A disposition is inherited over `exec`, and a shell sets it without `unsafe` on our side.
    pub(crate) fn ignoring_signals(&self, script: &OsStr) -> String {
        let program = match &self.program {
            Ok(program) => program,
            Err(error) => return format!("this program's own path: {error}"),
        };
        let error = command("sh")
            .args(["-c", r#"trap "" INT TERM HUP; exec "$@""#, "sh"])
            .arg(program)
            .args(&self.leading)
            .arg(SIGNALS_IGNORED)
            .arg(script)
            .exec();
        format!("sh: {error}")
    }

    fn command(&self, flag: &str, seconds: u64) -> io::Result<Command> {
        let program = self
            .program
            .as_ref()
            .map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
        let mut command = command(program);
        command
            .args(&self.leading)
            .arg(flag)
            .arg(seconds.to_string())
            .stdin(Stdio::null());
        Ok(command)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is an agent, and agents start what they like"
)]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Starts the process and waits until it has left its parent in the wanted way.
pub(crate) fn spawn(spawn: &Spawn, relaunch: &Relaunch) -> io::Result<()> {
    let flag = match spawn.kind {
        SpawnKind::Plain => LINGER,
        SpawnKind::Setsid => LINGER_SETSID,
        SpawnKind::DoubleFork | SpawnKind::DoubleForkClean => FORK_AGAIN,
    };
    let mut command = relaunch.command(flag, spawn.seconds)?;
    if spawn.kind == SpawnKind::DoubleForkClean {
        command.env_clear().current_dir("/");
    }
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    if let Some(ready) = child.stdout.take() {
        BufReader::new(ready).read_line(&mut line)?;
    }
    if flag == FORK_AGAIN {
        child.wait()?;
    }
    if !line.ends_with('\n') {
        return Err(io::Error::other("the started process did not come up"));
    }
    spawn
        .pid_file
        .as_ref()
        .map_or(Ok(()), |path| fs::write(path, line))
}

/// The part that these arguments ask for; `None`: they are not a child's.
pub(crate) fn role(args: &[OsString]) -> Result<Option<Role>, String> {
    let [flag, seconds] = args else { return Ok(None) };
    let role: fn(u64) -> Role = match flag.to_str() {
        Some(LINGER) => Role::Linger,
        Some(LINGER_SETSID) => Role::LingerSetsid,
        Some(FORK_AGAIN) => Role::ForkAgain,
        _ => return Ok(None),
    };
    let parsed = seconds.to_str().and_then(|text| text.parse().ok());
    parsed
        .map(|seconds| Some(role(seconds)))
        .ok_or_else(|| format!("{seconds:?} is no number of seconds"))
}

/// Lives a child's life.
pub(crate) fn live(role: Role, relaunch: &Relaunch) -> Result<(), String> {
    match role {
        Role::Linger(seconds) => linger(seconds),
        Role::LingerSetsid(seconds) => {
            rustix::process::setsid().map_err(|error| format!("setsid: {error}"))?;
            linger(seconds)
        }
        Role::ForkAgain(seconds) => {
            rustix::process::setsid().map_err(|error| format!("setsid: {error}"))?;
            let started = relaunch
                .command(LINGER, seconds)
                .and_then(|mut command| command.spawn());
            started
                .map(drop)
                .map_err(|error| format!("the second fork: {error}"))
        }
    }
}

fn linger(seconds: u64) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", std::process::id())
        .and_then(|()| out.flush())
        .map_err(|error| format!("standard output: {error}"))?;
    pause(Duration::from_secs(seconds));
    Ok(())
}
