//! What an execution looks like from outside. It signals, settles and writes nothing, and asks nobody.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::Pid;

use crate::cgroup::Tier;
use crate::closed::Closed;
use crate::dir::{self, ExecutionDir};
use crate::identity::{BootId, ProcessIdentity};
use crate::wire::{Agent, ClosedRecord, Ident, Keeper};
use crate::{proc, tree};

/// What one look at an execution's directory shows. By the time that it is read it may be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Where it is in its life.
    pub life: Life,
    /// The process that holds it, if one ever did: its shim, or the one that supervises it without a shim.
    pub shim: Option<ProcessIdentity>,
    /// Its agent, if it was started.
    pub agent: Option<ProcessIdentity>,
    /// When the agent was started; microseconds since 1970, UTC.
    pub started_at_unix_micros: Option<i64>,
    /// What holds its processes together.
    pub tier: Tier,
    /// How many bytes the agent has written to its two spools.
    pub output_bytes: u64,
    /// When it last wrote to them; `None` when it never did. Microseconds since 1970, UTC.
    pub last_output_unix_micros: Option<i64>,
}

/// Where an execution is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// No shim holds it yet, or none ever will.
    Unheld,
    /// Its shim lives.
    Alive(Load),
    /// Its shim is gone, and nobody has looked after what it left: a [`survey`](crate::survey()) does.
    Lost,
    /// It has ended, and something of it could not be: its [`survivors`](Closed::survivors).
    Incomplete(Closed),
    /// It is over.
    Over(Closed),
}

/// What a live execution uses, its shim included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// How many processes there are.
    pub processes: u32,
    /// The memory that they occupy; what several share is counted for each.
    pub memory_bytes: u64,
}

/// Looks at an execution. Blocks for as long as it takes to read a few small files and those of its processes.
///
/// # Errors
/// The directory cannot be read.
pub fn glance(dir: &ExecutionDir) -> io::Result<Glance> {
    let keeper = dir.read::<Keeper>(dir::KEEPER)?.map(|keeper| keeper.process);
    let shim = dir.read::<Ident>(dir::IDENT)?.map(|ident| ident.shim);
    let agent = dir.read::<Agent>(dir::AGENT)?.map(|agent| agent.agent);
    // What else a process does that supervises without a shim is none of our business.
    let root = if keeper.is_some() {
        agent.clone()
    } else {
        shim.clone()
    };
    let shim = shim.or(keeper.clone());
    let closed = dir.read::<ClosedRecord>(dir::CLOSED)?.map(Closed::from);
    let life = match (closed, &shim) {
        (Some(closed), _) if closed.is_over() => Life::Over(closed),
        (Some(closed), _) => Life::Incomplete(closed),
        (None, None) => Life::Unheld,
        // A shim writes its identity after it has the lock: nobody is kept from taking it by this look.
        (None, Some(_)) if dir.try_lock()?.is_none() => {
            Life::Alive(root.as_ref().map(load).unwrap_or_default())
        }
        // It may have written its end between the two looks.
        (None, Some(_)) => match dir.read::<ClosedRecord>(dir::CLOSED)?.map(Closed::from) {
            Some(closed) if closed.is_over() => Life::Over(closed),
            Some(closed) => Life::Incomplete(closed),
            None => Life::Lost,
        },
    };
    let spools = [dir.stdout_spool(), dir.stderr_spool()];
    let spools: Vec<_> = spools
        .iter()
        .filter_map(|spool| fs::metadata(spool).ok())
        .filter(|spool| spool.len() > 0)
        .collect();
    let tier = if keeper.is_some() {
        Tier::InProcess
    } else if dir.holds(dir::NAMESPACE)? {
        Tier::Namespace
    } else if dir.holds(dir::CGROUP)? {
        Tier::Cgroup
    } else {
        Tier::Subreaper
    };
    Ok(Glance {
        life,
        shim,
        started_at_unix_micros: agent.as_ref().and_then(|_| written_at(&dir.file(dir::AGENT))),
        agent,
        tier,
        output_bytes: spools.iter().map(fs::Metadata::len).sum(),
        last_output_unix_micros: spools.iter().map(modified).max(),
    })
}

fn load(root: &ProcessIdentity) -> Load {
    let is_this_boot = BootId::current().is_ok_and(|boot| boot == *root.boot_id());
    let (true, Some(root)) = (is_this_boot, Pid::from_raw(root.pid())) else {
        return Load::default();
    };
    let mut load = Load {
        processes: 1,
        memory_bytes: proc::resident_bytes(root),
    };
    tree::walk(root, |member| {
        load.processes += 1;
        load.memory_bytes = load.memory_bytes.saturating_add(proc::resident_bytes(member.pid));
    });
    load
}

fn written_at(path: &Path) -> Option<i64> {
    Some(modified(&fs::metadata(path).ok()?))
}

fn modified(file: &fs::Metadata) -> i64 {
    file.mtime()
        .saturating_mul(1_000_000)
        .saturating_add(file.mtime_nsec() / 1_000)
}
