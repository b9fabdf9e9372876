//! The control group of the agent, where one can be had, and what is done to a whole tree.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use crate::agent::{Agent, NoAgent, Place};
use crate::cgroup::Cgroup;
use crate::closed::SpawnFailure;
use crate::dir::{self, ExecutionDir};
use crate::hold::Containment;
use crate::proc;
use crate::sys::Bond;
use crate::tree::{self, Killed};
use crate::wire::{CgroupRecord, Ident, Spec};

/// What runs so long after it was stopped is not ours to stop.
const STANDSTILL_LIMIT: Duration = Duration::from_secs(2);
/// Between two looks: nothing tells that a process has stopped.
const STANDSTILL_INTERVAL: Duration = Duration::from_millis(2);

/// Starts the agent, in a control group of its own if that can be. A failure comes with the group that something may be left in.
pub(super) fn start(
    dir: &ExecutionDir,
    spec: &Spec,
    ident: &Ident,
) -> Result<(Agent, Option<Cgroup>), (SpawnFailure, Option<Cgroup>)> {
    let give_up = |group: Cgroup| {
        let _: io::Result<()> = group.remove();
        let _: io::Result<()> = fs::remove_file(dir.file(dir::CGROUP));
    };
    start_once(make_group(dir, spec), give_up, |group| {
        let place = Place {
            boot_id: &ident.boot_id,
            group,
            bond: match spec.containment {
                Containment::Best | Containment::Subreaper => Bond::DiesWith(getpid()),
                Containment::Namespace => Bond::InNamespace,
            },
        };
        Agent::start(dir, spec, place)
    })
}

/// Tries in the group first, and without it only when nothing has run: one attempt never gets two agents.
fn start_once<T>(
    group: Option<Cgroup>,
    give_up: impl FnOnce(Cgroup),
    start: impl Fn(Option<&Cgroup>) -> Result<T, NoAgent>,
) -> Result<(T, Option<Cgroup>), (SpawnFailure, Option<Cgroup>)> {
    if let Some(group) = group {
        match start(Some(&group)) {
            Ok(agent) => return Ok((agent, Some(group))),
            Err(NoAgent::Lost(failure)) => return Err((failure, Some(group))),
            // Whether it was the group that could not be entered, the kernel does not say: the next try tells.
            Err(NoAgent::NeverBegan(_)) => give_up(group),
        }
    }
    match start(None) {
        Ok(agent) => Ok((agent, None)),
        Err(NoAgent::NeverBegan(failure) | NoAgent::Lost(failure)) => Err((failure, None)),
    }
}

/// Makes the agent's group. Its place is written before it is there, so that whoever finds this process dead finds it.
fn make_group(dir: &ExecutionDir, spec: &Spec) -> Option<Cgroup> {
    match spec.containment {
        Containment::Best => {}
        Containment::Subreaper | Containment::Namespace => return None,
    }
    // Each step may be refused where nothing was delegated to us; then the tree is held by this process alone.
    let group = Cgroup::place(&spec.cgroup_name()).ok()?;
    let record = CgroupRecord {
        path: group.path().to_path_buf(),
    };
    dir.write_for_this_boot(dir::CGROUP, &record).ok()?;
    group.make().ok()?;
    Some(group)
}

/// Processes that their frozen group keeps from running.
#[derive(Debug)]
pub(super) struct Frozen(Vec<Pid>);

/// Stops the whole tree: by its group, where that can be done, so that no process learns of it; else, and what has left the group,
/// each process.
pub(super) fn freeze(group: Option<&Cgroup>) -> Frozen {
    let frozen = match group {
        Some(group) if group.freeze().is_ok() => group.members(),
        Some(_) | None => Vec::new(),
    };
    tree::stop_below_except(getpid(), &frozen);
    Frozen(frozen)
}

/// Waits until nothing of a tree that was stopped runs any more.
pub(super) fn await_standstill(Frozen(frozen): &Frozen) -> io::Result<()> {
    let deadline = Instant::now() + STANDSTILL_LIMIT;
    let interval = Timespec::try_from(STANDSTILL_INTERVAL).map_err(io::Error::other)?;
    loop {
        let mut running = 0_u32;
        tree::walk(getpid(), |member| {
            if !frozen.contains(&member.pid) && !proc::stands_still(member.pid) {
                running += 1;
            }
        });
        if running == 0 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let text = format!("{running} of its processes still run");
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        match poll(&mut [], Some(&interval)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Lets the whole tree go on, however it was stopped.
pub(super) fn thaw(group: Option<&Cgroup>) {
    if let Some(group) = group {
        // A group that is gone has nothing in it that could go on.
        let _: io::Result<()> = group.thaw();
    }
    tree::continue_below(getpid(), || true);
}

/// Kills the whole tree, and what has left the group as well.
pub(super) fn kill(group: Option<&Cgroup>) -> Killed {
    // Should it be refused, the walk does it alone.
    let by_group = group.is_some_and(|group| group.kill().is_ok());
    Killed {
        by_group,
        ..tree::kill_below(getpid(), || true)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::closed::SpawnReason;

    /// In which places (`true`: in a group) an agent is started whose first start ends so. And whether the group is kept.
    fn starts(first: fn(SpawnFailure) -> NoAgent) -> (Vec<bool>, bool) {
        let failure = SpawnFailure {
            reason: SpawnReason::System,
            errno: libc::EMFILE,
        };
        let tried = RefCell::new(Vec::new());
        let group = Cgroup::at("/nowhere".into());
        let started = start_once(Some(group), drop, |group| {
            tried.borrow_mut().push(group.is_some());
            match group {
                Some(_) => Err(first(failure.clone())),
                None => Ok(()),
            }
        });
        let kept = match started {
            Ok(((), group)) | Err((_, group)) => group,
        };
        (tried.into_inner(), kept.is_some())
    }

    #[test]
    fn an_agent_that_ran_is_not_started_again_without_its_group() {
        assert_eq!(starts(NoAgent::Lost), (vec![true], true));
    }

    #[test]
    fn an_agent_that_never_began_is_started_without_its_group() {
        assert_eq!(starts(NoAgent::NeverBegan), (vec![true, false], false));
    }
}
