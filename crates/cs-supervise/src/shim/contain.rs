//! The control group of the agent, where one can be had, and what is done to a whole tree.

use std::fs;
use std::io;

use rustix::process::getpid;

use super::agent::Agent;
use crate::cgroup::Cgroup;
use crate::closed::SpawnFailure;
use crate::dir::{self, ExecutionDir};
use crate::hold::Containment;
use crate::tree::{self, Killed};
use crate::wire::{CgroupRecord, Ident, Spec};

/// Starts the agent, in a control group of its own if that can be.
pub(super) fn start(
    dir: &ExecutionDir,
    spec: &Spec,
    ident: &Ident,
) -> Result<(Agent, Option<Cgroup>), SpawnFailure> {
    if let Some(group) = make_group(dir, spec) {
        if let Ok(agent) = Agent::start(dir, spec, ident, Some(&group)) {
            return Ok((agent, Some(group)));
        }
        // Whether it was the group that could not be entered, the kernel does not say: the next try tells.
        let _: io::Result<()> = group.remove();
        let _: io::Result<()> = fs::remove_file(dir.file(dir::CGROUP));
    }
    Ok((Agent::start(dir, spec, ident, None)?, None))
}

/// Makes the agent's group. Its place is written before it is there, so that whoever finds this process dead finds it.
fn make_group(dir: &ExecutionDir, spec: &Spec) -> Option<Cgroup> {
    match spec.containment {
        Containment::Best => {}
        Containment::Subreaper => return None,
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

/// Stops the whole tree: by its group, where that can be done, so that no process learns of it; else each process.
pub(super) fn freeze(group: Option<&Cgroup>) {
    if group.is_none_or(|group| group.freeze().is_err()) {
        tree::stop_below(getpid(), || true);
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
    if let Some(group) = group {
        // Should it be refused, the walk does it alone.
        let _: io::Result<()> = group.kill();
    }
    tree::kill_below(getpid(), || true)
}
