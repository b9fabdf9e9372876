//! Short commands that outlived their starter, found by what it put into their environment.
//!
//! A short command is killed with whoever waits for it, but not where that one died hard. What is left of it may still be at work, so
//! whoever begins the same anew waits for it first, and ends it when it takes too long.

use std::io;
use std::time::Duration;

use rustix::process::{Signal, getpid};
use tokio::time::Instant;

use crate::identity::{BootId, ProcessIdentity};
use crate::proc;

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(100);
/// How long what was asked to end may take, before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// What became of what was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOver {
    /// There was nothing.
    Nothing,
    /// It ended by itself.
    Ended,
    /// Its time was up, and it was told to end, or killed.
    Stopped,
    /// It cannot be ended.
    Stays,
}

/// Waits until no process runs any more that was started with this `NAME=value` in its environment and whose name is meant. What still
/// runs after the limit is told to end, and killed after a grace. A process that hands its environment on to a server that is not
/// meant does no harm: its name tells.
///
/// # Errors
/// The system does not say what runs.
pub async fn await_left_over(
    assignment: &[u8],
    is_meant: fn(&str) -> bool,
    limit: Duration,
) -> io::Result<LeftOver> {
    let boot = BootId::current()?;
    let find = || find(&boot, assignment, is_meant);
    if find()?.is_empty() {
        return Ok(LeftOver::Nothing);
    }
    if gone_within(&find, limit).await? {
        return Ok(LeftOver::Ended);
    }
    for signal in [Signal::TERM, Signal::KILL] {
        for process in find()? {
            if let Some(member) = process.pin() {
                member.signal(signal);
            }
        }
        if gone_within(&find, GRACE).await? {
            return Ok(LeftOver::Stopped);
        }
    }
    Ok(LeftOver::Stays)
}

async fn gone_within(
    find: &impl Fn() -> io::Result<Vec<ProcessIdentity>>,
    limit: Duration,
) -> io::Result<bool> {
    let until = Instant::now() + limit;
    loop {
        if find()?.is_empty() {
            return Ok(true);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn find(boot: &BootId, assignment: &[u8], is_meant: fn(&str) -> bool) -> io::Result<Vec<ProcessIdentity>> {
    let own = getpid();
    let mut found = Vec::new();
    for pid in proc::all()?.into_iter().filter(|pid| *pid != own) {
        let Ok(Some(stat)) = proc::stat(pid) else {
            continue;
        };
        if stat.is_dead() || !is_meant(&stat.comm) || !proc::has_environment(pid, assignment) {
            continue;
        }
        // The same after its environment was read: that was its own.
        let identity = ProcessIdentity::of(boot, pid).ok().flatten();
        found.extend(identity.filter(|identity| identity.start_ticks() == stat.start_ticks));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sleep(name: &str) -> bool {
        name == "sleep"
    }

    fn is_other(name: &str) -> bool {
        name == "another"
    }

    #[tokio::test]
    async fn what_was_left_of_a_command_is_ended_and_nothing_else_is() {
        let value = format!("LEFT_OVER_TEST=of {}", std::process::id());
        let (name, rest) = value.split_once('=').expect("it has both");
        #[expect(
            clippy::disallowed_methods,
            reason = "this stands for a command whose starter is gone"
        )]
        let start = |value: &str| {
            let mut command = std::process::Command::new("sleep");
            command.arg("600").env(name, value).spawn().expect("it starts")
        };
        let (mut left, mut other) = (start(rest), start("of another"));
        let none = await_left_over(value.as_bytes(), is_other, Duration::ZERO).await;
        assert_eq!(none.expect("/proc is there"), LeftOver::Nothing);
        let ended = await_left_over(value.as_bytes(), is_sleep, Duration::ZERO).await;
        assert_eq!(ended.expect("/proc is there"), LeftOver::Stopped);
        left.wait().expect("it is over");
        assert!(other.try_wait().expect("it can be asked").is_none());
        other.kill().expect("it runs");
        other.wait().expect("it is over");
    }
}
