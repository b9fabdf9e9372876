//! Walks over the live descendants of one of our own processes, and signals that cannot reach a stranger.
//!
//! A number read from a child list may be given to somebody else before it is used. So each member is pinned by a
//! pidfd first and looked at afterwards: only what *then* has a parent inside the tree is a member. Should the
//! number change hands between the two steps, the pidfd points to the process that is gone and signals nobody.

use std::collections::BTreeSet;
use std::num::NonZeroI32;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, pidfd_send_signal, waitid,
};

use crate::proc;

/// Bounds the rounds of [`spread_below`]. A stopped process does not fork, so a tree stands still within a few.
const MAX_STOP_ROUNDS: u32 = 64;

/// A live descendant, pinned.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    pub(crate) start_ticks: u64,
    pub(crate) comm: String,
}

impl Member {
    /// Signals this very process. It may be gone, or not ours to signal: the next walk tells.
    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.pidfd, signal);
    }

    /// Kills this very process, or learns that it is not ours to kill.
    pub(crate) fn kill(&self) -> Kill {
        match pidfd_send_signal(&self.pidfd, Signal::KILL) {
            Err(Errno::PERM) => Kill::Refused,
            Ok(()) | Err(_) => Kill::Sent,
        }
    }
}

/// What became of a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kill {
    /// The process will end, or has.
    Sent,
    /// It belongs to somebody else, such as after a change of its user.
    Refused,
}

/// What came of killing a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Killed {
    /// How many walks it took to stop it.
    pub(crate) rounds: u32,
    /// How many processes will end.
    pub(crate) sent: u32,
    /// How many are not ours to kill.
    pub(crate) refused: u32,
    /// Whether the kernel was told to kill the whole control group as well: it asks nobody whose the processes are.
    pub(crate) by_group: bool,
}

impl Killed {
    /// Counts one more.
    pub(crate) fn count(&mut self, kill: Kill) {
        match kill {
            Kill::Sent => self.sent += 1,
            Kill::Refused => self.refused += 1,
        }
    }

    /// Whether there is something, and nobody can kill anything of it: to try again is of no use.
    pub(crate) fn is_hopeless(self) -> bool {
        self.sent == 0 && self.refused > 0 && !self.by_group
    }
}

/// Opens a pidfd; `None` when the process is gone.
pub(crate) fn open(pid: Pid) -> Option<OwnedFd> {
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Sends a signal through a pidfd. That the process is gone or refuses is for the caller's next look to find.
pub(crate) fn send(pidfd: impl AsFd, signal: Signal) {
    let _: Result<(), Errno> = pidfd_send_signal(pidfd, signal);
}

/// Visits each live descendant of `root`, parents before children. `root` must be unreaped while this runs: where that is not certain, it
/// must be known to be so afterwards, before anything is done with what was visited.
pub(crate) fn walk(root: Pid, mut visit: impl FnMut(Member)) {
    let mut members = BTreeSet::from([raw(root)]);
    let mut seen = members.clone();
    let mut open_parents = vec![root];
    while let Some(parent) = open_parents.pop() {
        // A parent that ends during the walk has handed its children to the subreaper; the next walk finds them.
        for child in proc::children(parent).unwrap_or_default() {
            if !seen.insert(raw(child)) {
                continue;
            }
            let Some(pidfd) = open(child) else { continue };
            let Ok(Some(stat)) = proc::stat(child) else {
                continue;
            };
            if !NonZeroI32::new(stat.parent).is_some_and(|parent| members.contains(&parent)) {
                continue;
            }
            members.insert(raw(child));
            open_parents.push(child);
            if !stat.is_dead() {
                visit(Member {
                    pid: child,
                    pidfd,
                    start_ticks: stat.start_ticks,
                    comm: stat.comm,
                });
            }
        }
    }
}

/// Stops everything below `root`, so that the tree cannot grow away from a walk. Returns the number of rounds.
///
/// `root` must be unreaped while this runs, or `is_same` must say whether its number still means it: that is asked
/// after a member was pinned and before it is signalled, so a yes covers the pin.
pub(crate) fn stop_below(root: Pid, is_same: impl Fn() -> bool) -> u32 {
    spread_below(root, Signal::STOP, |_| is_same())
}

/// Stops everything below `root`, a process that cannot be reaped while this runs, but what stands still already.
pub(crate) fn stop_below_except(root: Pid, still: &[Pid]) {
    spread_below(root, Signal::STOP, |member| !still.contains(&member.pid));
}

/// Lets everything below `root` go on that was stopped. The terms are those of [`stop_below`].
pub(crate) fn continue_below(root: Pid, is_same: impl Fn() -> bool) {
    spread_below(root, Signal::CONT, |_| is_same());
}

/// Signals each process below `root` that is meant once, until a walk finds no new one.
fn spread_below(root: Pid, signal: Signal, is_meant: impl Fn(&Member) -> bool) -> u32 {
    let mut told = BTreeSet::new();
    for round in 1..=MAX_STOP_ROUNDS {
        let mut grew = false;
        walk(root, |member| {
            if is_meant(&member) && told.insert((raw(member.pid), member.start_ticks)) {
                grew = true;
                member.signal(signal);
            }
        });
        if !grew {
            return round;
        }
    }
    MAX_STOP_ROUNDS
}

/// Kills everything below `root`, after it was stopped. The terms are those of [`stop_below`].
pub(crate) fn kill_below(root: Pid, is_same: impl Fn() -> bool) -> Killed {
    let mut killed = Killed::default();
    killed.rounds = kill_each_below(root, is_same, |_, kill| killed.count(kill));
    killed
}

/// Kills everything below `root` as [`kill_below`] does, and tells what became of each. Returns the number of rounds.
pub(crate) fn kill_each_below(
    root: Pid,
    is_same: impl Fn() -> bool,
    mut told: impl FnMut(&Member, Kill),
) -> u32 {
    let rounds = stop_below(root, &is_same);
    let mut below = Vec::new();
    // All of them are known before the first is killed: what a dead parent leaves is another's child at once, or nobody's.
    walk(root, |member| {
        if is_same() {
            below.push((member.pid, member.start_ticks));
        }
    });
    for (pid, start_ticks) in below.into_iter().rev() {
        if let Some(member) = pin(pid, start_ticks) {
            let kill = member.kill();
            told(&member, kill);
        }
    }
    rounds
}

/// Pins the process that has this number and began at this time; `None` when it has ended.
pub(crate) fn pin(pid: Pid, start_ticks: u64) -> Option<Member> {
    let pidfd = open(pid)?;
    // Looked at after it was pinned, so that the answer cannot be about another process than the pin.
    let stat = proc::stat(pid).ok().flatten()?;
    (stat.start_ticks == start_ticks && !stat.is_dead()).then_some(Member {
        pid,
        pidfd,
        start_ticks,
        comm: stat.comm,
    })
}

/// Whether a child of ours is not reaped yet: only then its number, and so its group's, cannot belong to a stranger. A program that
/// ignores `SIGCHLD`, or waits for whatever child there is, has its children reaped without us.
pub(crate) fn is_unreaped(child: impl AsFd) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::PidFd(child.as_fd()), options).is_ok()
}

/// Kills a child of ours, everything below it and its process group. Nothing that goes by its number is done once it is reaped.
pub(crate) fn kill_with_leader(leader: Pid, pidfd: impl AsFd) {
    send(pidfd.as_fd(), Signal::STOP);
    kill_below(leader, || is_unreaped(pidfd.as_fd()));
    // While it stands still it does not end, so it is not reaped either.
    kill_group(leader, pidfd.as_fd());
    send(pidfd, Signal::KILL);
}

/// Kills the process group that `leader`, a child of ours, leads, unless it is reaped.
pub(crate) fn kill_group(leader: Pid, pidfd: impl AsFd) {
    if is_unreaped(pidfd) {
        // No such group is the normal case after an orderly end.
        let _: Result<(), Errno> = kill_process_group(leader, Signal::KILL);
    }
}

fn raw(pid: Pid) -> NonZeroI32 {
    pid.as_raw_nonzero()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_group_was_told_to_kill_is_waited_for_whoever_owns_it() {
        let refused = Killed {
            refused: 1,
            ..Killed::default()
        };
        assert!(refused.is_hopeless());
        let by_group = Killed {
            by_group: true,
            ..refused
        };
        assert!(!by_group.is_hopeless());
        assert!(!Killed { sent: 1, ..refused }.is_hopeless());
        assert!(!Killed::default().is_hopeless());
    }
}
