//! Keeping a list of the tree while it lives, for the one who would have to close it without its shim.

use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};

use crate::dir::{self, ExecutionDir};
use crate::identity::{BootId, NamedProcess};
use crate::wire::Descendants;
use crate::{proc, tree};

const FIRST_INTERVAL: Duration = Duration::from_millis(20);
const LAST_INTERVAL: Duration = Duration::from_secs(1);
/// No more are listed; a tree of this size is found by its cookie.
const MAX_LISTED: usize = 2048;

/// Looks at the tree often while it is young, then once a second.
#[derive(Debug)]
pub(super) struct Witness {
    pub(super) due: Instant,
    interval: Duration,
    written: Descendants,
}

impl Witness {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            due: now,
            interval: FIRST_INTERVAL,
            written: Descendants::default(),
        }
    }

    /// Reaps orphans that have ended, and writes the list when it has changed.
    pub(super) fn look(&mut self, now: Instant, dir: &ExecutionDir, boot_id: &BootId, agent: Pid) {
        self.due = now + self.interval;
        self.interval = (self.interval * 2).min(LAST_INTERVAL);
        reap_orphans(agent);
        let list = Descendants {
            processes: living(boot_id),
        };
        // A list that cannot be written now is written when it can be: the disk may be full.
        if list != self.written && dir.write_for_this_boot(dir::DESCENDANTS, &list).is_ok() {
            self.written = list;
        }
    }

    /// Who was on the last list.
    pub(super) fn known(&self) -> Vec<NamedProcess> {
        self.written.processes.clone()
    }
}

/// Every live process below this one.
pub(super) fn living(boot_id: &BootId) -> Vec<NamedProcess> {
    let mut found = Vec::new();
    tree::walk(getpid(), |member| {
        if found.len() < MAX_LISTED {
            found.push(NamedProcess::of(boot_id, &member));
        }
    });
    found
}

/// Reaps children that fell to us and have ended. The agent is left alone: its exit is not stored yet.
fn reap_orphans(agent: Pid) {
    for child in proc::children(getpid()).unwrap_or_default() {
        let is_dead = || {
            proc::stat(child)
                .ok()
                .flatten()
                .is_some_and(|stat| stat.is_dead())
        };
        if child != agent && is_dead() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            // Only we reap our children, so it is there; how an orphan ended is nobody's question.
            let _: rustix::io::Result<_> = waitid(WaitId::Pid(child), options);
        }
    }
}
