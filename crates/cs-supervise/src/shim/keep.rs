//! Keeping an execution within its limits, pausing it and letting it go on.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid};

use super::contain::{self, Frozen};
use super::ladder::Ladder;
use super::serve::{Running, Shim, Stage};
use super::watchdog::{Act, Moment, Watchdog};
use super::witness::Witness;
use crate::agent::Agent;
use crate::cgroup::{Cgroup, Tier};
use crate::dir::{self, ExecutionDir};
use crate::limits::Limit;
use crate::pause::PausedBy;
use crate::running::StopRequest;
use crate::tree;
use crate::wire::{Refusal, Reply, Spec, Spent};

/// How often what was spent is written.
const SPENT_INTERVAL: Duration = Duration::from_secs(30);

impl Running {
    pub(super) fn new(agent: Agent, group: Option<Cgroup>, tier: Tier, spec: &Spec) -> Self {
        let now = Moment::now();
        Self {
            agent,
            group,
            tier,
            ladder: None,
            witness: Witness::new(now.awake),
            watchdog: Watchdog::new(spec.limits.into(), now),
            paused: None,
            limit: None,
            spent_due: now.awake + SPENT_INTERVAL,
        }
    }

    pub(super) fn pause(&mut self, by: PausedBy) -> Frozen {
        let frozen = contain::freeze(self.group.as_ref());
        self.watchdog.pause(Instant::now());
        self.paused = Some(stronger(self.paused, by));
        frozen
    }

    pub(super) fn resume(&mut self) {
        self.watchdog.resume(Instant::now());
        if self.paused.take().is_some() {
            contain::thaw(self.group.as_ref());
        }
    }

    /// Somebody follows it again: what stood still only since nobody did goes on.
    fn renew(&mut self) {
        self.watchdog.renew(Instant::now());
        if self.paused == Some(PausedBy::Lease) {
            self.resume();
        }
    }

    /// Ends it, since it has reached a limit.
    fn end(&mut self, limit: Limit) {
        let graces = StopRequest::default();
        self.limit = Some(limit);
        self.ladder = Some(Ladder::new(
            Instant::now(),
            graces.interrupt_grace,
            graces.terminate_grace,
        ));
    }

    /// Does what the limits ask for. Returns when to look again at the latest.
    pub(super) fn enforce(&mut self, now: Moment, dir: &ExecutionDir) -> Option<Instant> {
        if now.awake >= self.spent_due {
            self.spent_due = now.awake + SPENT_INTERVAL;
            let spent = Spent::new(self.watchdog.worked(now.awake));
            // What a full disk keeps from being written now is written the next time.
            let _: io::Result<()> = dir.write_for_this_boot(dir::SPENT, &spent);
        }
        if self.ladder.is_some() {
            return None;
        }
        match self.watchdog.judge(now, dir.spool_blocks_bytes()) {
            Some(Act::Stop(limit)) => self.end(limit),
            Some(Act::Pause) => {
                self.pause(PausedBy::Lease);
            }
            // Somebody else may have let a process go on.
            None if self.paused.is_some() => {
                contain::freeze(self.group.as_ref());
            }
            None => {}
        }
        self.watchdog.due(now.awake)
    }
}

/// By whom an execution is paused when one more pauses it. Only a person's word ends a person's pause, whatever its lease does.
fn stronger(before: Option<PausedBy>, by: PausedBy) -> PausedBy {
    match (before, by) {
        (Some(PausedBy::Request), _) | (_, PausedBy::Request) => PausedBy::Request,
        (Some(PausedBy::Lease) | None, PausedBy::Lease) => PausedBy::Lease,
    }
}

impl Shim {
    pub(super) fn pause(&mut self) -> Reply {
        match &mut self.stage {
            Stage::Held => self.pause_at_start = true,
            Stage::Running(running) if running.ladder.is_none() => {
                let frozen = running.pause(PausedBy::Request);
                if let Err(error) = contain::await_standstill(&frozen) {
                    return self.broken("stop every process of it", &error);
                }
            }
            Stage::Running(_) | Stage::Closing { .. } | Stage::Writing { .. } | Stage::Done => {
                return Reply::Refused {
                    reason: Refusal::WrongPhase,
                };
            }
        }
        Reply::PauseIs {
            paused: Some(PausedBy::Request),
        }
    }

    pub(super) fn resume(&mut self) -> Reply {
        match &mut self.stage {
            Stage::Held => self.pause_at_start = false,
            Stage::Running(running) if running.ladder.is_none() => running.resume(),
            Stage::Running(_) | Stage::Closing { .. } | Stage::Writing { .. } | Stage::Done => {
                return Reply::Refused {
                    reason: Refusal::WrongPhase,
                };
            }
        }
        Reply::PauseIs { paused: None }
    }

    pub(super) fn renew(&mut self) -> Reply {
        if let Stage::Running(running) = &mut self.stage {
            running.renew();
        }
        Reply::Renewed
    }
}

/// Interrupts the agent; one that is paused could not hear it.
pub(super) fn interrupt(running: &mut Running) {
    tree::send(&running.agent.pidfd, Signal::INT);
    running.resume();
}

/// Asks the whole tree to end.
pub(super) fn terminate(running: &mut Running) {
    tree::walk(getpid(), |member| {
        member.signal(Signal::TERM);
        // A stopped process takes no other signal until it goes on.
        member.signal(Signal::CONT);
    });
    running.resume();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_pause_takes_the_place_of_a_leases_and_never_the_reverse() {
        use PausedBy::{Lease, Request};
        assert_eq!(stronger(None, Lease), Lease);
        assert_eq!(stronger(Some(Lease), Lease), Lease);
        for (before, by) in [
            (None, Request),
            (Some(Lease), Request),
            (Some(Request), Lease),
            (Some(Request), Request),
        ] {
            assert_eq!(stronger(before, by), Request);
        }
    }
}
