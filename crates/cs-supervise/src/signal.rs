//! Signals that cannot reach the wrong process: through a pidfd, opened first and checked afterwards.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use crate::proc;

/// Bounds the rounds of [`kill_tree`]: a tree that still grows after so many is left to the group kill.
const MAX_ROUNDS: usize = 64;

/// Opens a pidfd; `None` when the process is gone or not ours to see.
pub(crate) fn open(pid: Pid) -> Option<OwnedFd> {
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Sends a signal to a direct or indirect child of `ancestor`, which must be unreaped while this runs.
///
/// The pidfd is opened before the parent chain is looked at, so a number that was given to a stranger in
/// between is noticed and left alone.
fn signal_descendant(pid: Pid, start_ticks: u64, signal: Signal) {
    let Some(pidfd) = open(pid) else { return };
    let same = proc::stat(pid)
        .ok()
        .flatten()
        .is_some_and(|stat| stat.start_ticks == start_ticks);
    if same {
        // A process that ended meanwhile or refuses us is the caller's to notice at the next walk.
        let _: Result<(), Errno> = pidfd_send_signal(&pidfd, signal);
    }
}

/// Kills a child of ours, its process group and everything below it.
///
/// `leader` must be our own child and not yet reaped: its number, and so its group's, cannot belong to a stranger.
/// The tree is stopped top down while it is walked, so that it cannot fork away from the walk.
pub(crate) fn kill_tree(leader: Pid) {
    let mut stopped = BTreeSet::new();
    let mut victims = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let mut grew = false;
        let found = proc::descendants(leader).unwrap_or_default();
        for pid in std::iter::once(leader).chain(found) {
            let Ok(Some(stat)) = proc::stat(pid) else { continue };
            if !stat.is_dead() && stopped.insert((pid.as_raw_nonzero(), stat.start_ticks)) {
                grew = true;
                victims.push((pid, stat.start_ticks));
                signal_descendant(pid, stat.start_ticks, Signal::STOP);
            }
        }
        if !grew {
            break;
        }
    }
    for (pid, start_ticks) in victims {
        signal_descendant(pid, start_ticks, Signal::KILL);
    }
    kill_group(leader);
}

/// Kills the process group that `leader`, an unreaped child of ours, leads.
pub(crate) fn kill_group(leader: Pid) {
    // No such group is the normal case after an orderly end.
    let _: Result<(), Errno> = kill_process_group(leader, Signal::KILL);
}
