//! Closing the tree after the agent's end, until it is proven that nothing is left.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};

use super::contain;
use super::namespace::Namespace;
use super::witness::living;
use crate::cgroup::{Cgroup, Emptiness};
use crate::closed::{Closed, Proof};
use crate::identity::{BootId, NamedProcess, named};
use crate::sweep::{Look, Sweep};
use crate::tree;
use crate::wire::{ExitRecord, Spec};

/// A process that is not dead so long after it was killed cannot be killed by us.
const KILL_LIMIT: Duration = Duration::from_secs(20);
/// Between two looks, when no event tells earlier.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// A tree that is being closed.
#[derive(Debug)]
pub(super) struct Closing {
    boot_id: BootId,
    cookie_assignment: Vec<u8>,
    closed: Closed,
    tree: Tree,
    stage: Stage,
}

/// What is known of a tree besides that it is below this process.
#[derive(Debug)]
pub(super) struct Tree {
    /// Who was seen.
    pub(super) known: Vec<NamedProcess>,
    /// The control group that it is in.
    pub(super) group: Option<Cgroup>,
    /// The namespace that it is in.
    pub(super) namespace: Option<Namespace>,
}

#[derive(Debug)]
enum Stage {
    /// Leftovers may end by themselves.
    Grace { until: Instant },
    /// Stop, walk, kill and reap until there is no child.
    Kill { until: Instant },
    /// Look for what never was our descendant.
    Sweep(Sweep),
    /// Remove the control group, which is possible only when it is empty.
    Group { until: Instant },
    /// Nothing more can be done.
    Over,
}

/// What closing waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// One of these processes to end, or this moment.
    For(Vec<OwnedFd>, Instant),
    /// Nothing: this is the end.
    Nothing(Closed),
}

impl Closing {
    /// A tree whose leftovers may end by themselves until a moment.
    pub(super) fn new(spec: &Spec, boot_id: &BootId, exit: ExitRecord, tree: Tree, until: Instant) -> Self {
        let closed = Closed {
            exit: exit.exit,
            stopped_by_us: exit.stopped_by_us,
            proof: None,
            leaked: Vec::new(),
            survivors: Vec::new(),
            rounds: 0,
            ended_at_unix_micros: exit.ended_at_unix_micros,
            limit: exit.limit,
            worked: exit.worked_ms.map(Duration::from_millis),
            dismissed_at_unix_micros: None,
        };
        Self {
            boot_id: boot_id.clone(),
            cookie_assignment: spec.cookie_assignment(),
            closed,
            tree,
            stage: Stage::Grace { until },
        }
    }

    /// Leaves out the grace for leftovers: somebody has asked for the end.
    pub(super) fn force(&mut self, now: Instant) {
        if let Stage::Grace { until } = &mut self.stage {
            *until = now;
        }
    }

    /// Does what can be done now.
    pub(super) fn advance(&mut self, now: Instant) -> Wait {
        loop {
            let wait = match &mut self.stage {
                Stage::Grace { until } => {
                    let until = *until;
                    self.grace(now, until)
                }
                Stage::Kill { until } => {
                    let until = *until;
                    self.kill(now, until)
                }
                Stage::Sweep(_) => self.sweep(now),
                Stage::Group { until } => {
                    let until = *until;
                    self.group(now, until)
                }
                Stage::Over => Some(Wait::Nothing(self.closed.clone())),
            };
            if let Some(wait) = wait {
                return wait;
            }
        }
    }

    fn grace(&mut self, now: Instant, until: Instant) -> Option<Wait> {
        reap_all();
        let first = self.tree.namespace.as_ref().map(|namespace| namespace.pid);
        let waiting = pins(first);
        if !waiting.is_empty() && now < until {
            return Some(Wait::For(waiting, until));
        }
        if !self.closed.stopped_by_us {
            self.closed.leaked = living(&self.boot_id);
            // It is ours, and was to be there.
            let init = self.tree.namespace.as_ref().map(|namespace| &namespace.init);
            self.closed
                .leaked
                .retain(|process| Some(&process.identity) != init);
        }
        self.stage = Stage::Kill {
            until: now + KILL_LIMIT,
        };
        None
    }

    fn kill(&mut self, now: Instant, until: Instant) -> Option<Wait> {
        if reap_all() == Children::None {
            let known = self
                .tree
                .known
                .iter()
                .map(|process| process.identity.clone())
                .collect();
            let sweep = Sweep::new(
                self.boot_id.clone(),
                self.cookie_assignment.clone(),
                known,
                KILL_LIMIT,
            );
            let by_group = self.tree.group.as_ref().is_some_and(|it| it.kill().is_ok());
            self.stage = Stage::Sweep(sweep.after_a_kill_by_group(by_group));
            return None;
        }
        let killed = contain::kill(self.tree.group.as_ref());
        self.closed.rounds += killed.rounds;
        if now >= until || killed.is_hopeless() {
            self.closed.survivors = living(&self.boot_id);
            self.stage = Stage::Over;
            return None;
        }
        Some(Wait::For(pins(None), now + LOOK_INTERVAL))
    }

    fn sweep(&mut self, now: Instant) -> Option<Wait> {
        let Stage::Sweep(sweep) = &mut self.stage else {
            return None;
        };
        match sweep.look() {
            Ok(Look::Again) => None,
            Ok(Look::Clean) => {
                // What the sweep killed may have left an orphan to us.
                if reap_all() == Children::None {
                    self.closed.rounds += sweep.rounds();
                    self.stage = Stage::Group {
                        until: now + KILL_LIMIT,
                    };
                } else {
                    self.stage = Stage::Kill {
                        until: now + KILL_LIMIT,
                    };
                }
                None
            }
            Ok(Look::Killed(members)) => {
                let pidfds = members.into_iter().map(|member| member.pidfd).collect();
                Some(Wait::For(pidfds, now + LOOK_INTERVAL))
            }
            Ok(Look::Survived(survivors)) => {
                self.closed.survivors = survivors;
                self.stage = Stage::Over;
                None
            }
            // Without `/proc` nothing is proven, and nothing more can be found.
            Err(_) => {
                self.stage = Stage::Over;
                None
            }
        }
    }
}

impl Closing {
    fn group(&mut self, now: Instant, until: Instant) -> Option<Wait> {
        let Some(group) = &self.tree.group else {
            // Its first process was our child and is reaped.
            return self.proven(match self.tree.namespace {
                Some(_) => Proof::NamespaceEnded,
                None => Proof::SubreaperEmpty,
            });
        };
        // Of what cannot be read now nothing is known.
        let emptiness = group.close(Duration::ZERO).unwrap_or(Emptiness::Populated);
        if let Some(proof) = emptiness.proof(Proof::SubreaperEmpty) {
            return self.proven(proof);
        }
        if now >= until {
            self.closed.survivors = named(&self.boot_id, group.members());
            self.stage = Stage::Over;
            return None;
        }
        // Somebody has put a process into it that was never ours.
        self.closed.rounds += contain::kill(Some(group)).rounds;
        Some(Wait::For(Vec::new(), now + LOOK_INTERVAL))
    }

    fn proven(&mut self, proof: Proof) -> Option<Wait> {
        self.closed.proof = Some(proof);
        self.stage = Stage::Over;
        None
    }
}

/// Pidfds of some live processes below this one but for one, to wait for: enough to be woken soon, few enough to be open at once.
fn pins(but: Option<Pid>) -> Vec<OwnedFd> {
    const ENOUGH: usize = 64;
    let mut pins = Vec::new();
    tree::walk(getpid(), |member| {
        if pins.len() < ENOUGH && Some(member.pid) != but {
            pins.push(member.pidfd);
        }
    });
    pins
}

/// Whether this process has children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Children {
    Some,
    None,
}

/// Reaps every child that has ended, the agent included. The kernel's word that there is no child is the proof.
fn reap_all() -> Children {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Children::None,
            Ok(None) | Err(_) => return Children::Some,
        }
    }
}
