//! The end of an execution whose directory is gone. Its shim and its agent live on without it, and whoever reads only the directory
//! takes them for never started. What somebody has noted elsewhere leads to them.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, getpid};

use crate::cgroup::{Cgroup, Emptiness};
use crate::closed::Proof;
use crate::dir::ExecutionDir;
use crate::identity::{BootId, NamedProcess, ProcessIdentity, ShimIdentity, named};
use crate::shim::SHIM_ARGUMENT;
use crate::sweep::Sweep;
use crate::wire::COOKIE_VARIABLE;
use crate::{proc, tree};

/// A process that is not dead so long after it was killed cannot be killed by us.
const SWEEP_LIMIT: Duration = Duration::from_secs(10);

/// What is known of an execution beside its directory.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    /// Where its directory was, or may have been: a shim is told it when it is started.
    pub dirs: Vec<ExecutionDir>,
    /// Its shim, where that was noted.
    pub shim: Option<ShimIdentity>,
    /// Its agent, where that was noted.
    pub agent: Option<ProcessIdentity>,
}

/// How an execution without a directory was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntracedEnd {
    /// What of it still ran, and was killed as far as it could be.
    pub found: Vec<NamedProcess>,
    /// What of it could not be killed.
    pub survivors: Vec<NamedProcess>,
    /// Why we know that nothing is left. It is no better than what was noted: without the cookie of its environment, which its shim's
    /// identity or a live process of it tells, a process that has left the tree is not found.
    pub proof: Option<Proof>,
}

/// Ends what still runs of an execution whose directory is gone, or says nothing any more. It kills at once, as what a lost shim has left
/// is: nobody keeps what such an agent says. Only processes are signalled that are the ones that were noted, that were started for this
/// very directory, that carry the execution's cookie, or that are below one of these.
///
/// # Errors
/// The system does not say what runs, or a process cannot be waited for.
pub async fn end_untraced(noted: Noted) -> io::Result<UntracedEnd> {
    let ended = tokio::task::spawn_blocking(move || end(&noted)).await;
    ended.map_err(io::Error::other)?
}

fn end(noted: &Noted) -> io::Result<UntracedEnd> {
    let boot_id = BootId::current()?;
    let shim = noted.shim.as_ref().map(|shim| shim.process.clone());
    let known: Vec<_> = shim.into_iter().chain(noted.agent.clone()).collect();
    if !known.is_empty() && known.iter().all(|process| *process.boot_id() != boot_id) {
        return Ok(UntracedEnd {
            found: Vec::new(),
            survivors: Vec::new(),
            proof: Some(Proof::HostRebooted),
        });
    }
    let mut roots: BTreeSet<_> = known
        .into_iter()
        .filter(|process| *process.boot_id() == boot_id)
        .collect();
    roots.extend(started_for(&noted.dirs, &boot_id)?);
    let members = members(&roots);
    let cookie = noted.shim.as_ref().and_then(|shim| shim.cookie.clone());
    let cookie = cookie.or_else(|| members.iter().find_map(|pid| cookie_of(*pid)));
    let group = cookie.as_deref().and_then(|cookie| group_of(cookie, &members));
    let assignment = assignment(cookie.as_deref());
    let known = roots.into_iter().collect();
    let sweep = Sweep::new(boot_id.clone(), assignment, known, SWEEP_LIMIT);
    // Before anything is killed: the kernel may be done with a whole group by the next look.
    let found = sweep.find()?;
    let found = found
        .iter()
        .map(|member| NamedProcess::of(&boot_id, member))
        .collect();
    let by_group = group.as_ref().is_some_and(|group| group.kill().is_ok());
    let mut sweep = sweep.after_a_kill_by_group(by_group);
    let mut survivors = sweep.run()?;
    let mut proof = survivors.is_empty().then_some(Proof::SweepClean);
    if let Some(group) = group.filter(|_| survivors.is_empty()) {
        // Of what cannot be read nothing is known.
        let emptiness = group.close(SWEEP_LIMIT).unwrap_or(Emptiness::Populated);
        proof = emptiness.proof(Proof::SweepClean);
        if proof.is_none() {
            survivors = named(&boot_id, group.members());
        }
    }
    Ok(UntracedEnd {
        found,
        survivors,
        proof,
    })
}

/// The shims that were started for one of these directories.
fn started_for(dirs: &[ExecutionDir], boot_id: &BootId) -> io::Result<Vec<ProcessIdentity>> {
    if dirs.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for pid in proc::all()?.into_iter().filter(|pid| *pid != getpid()) {
        let identity = ProcessIdentity::of(boot_id, pid).ok().flatten();
        let is_one = proc::arguments(pid).is_ok_and(|line| is_shim_of(&line, dirs));
        // Alive after its arguments were read: they were its own.
        found.extend(identity.filter(|identity| is_one && identity.is_alive()));
    }
    Ok(found)
}

/// Says whether these are the arguments of a shim of one of these directories.
fn is_shim_of(arguments: &[OsString], dirs: &[ExecutionDir]) -> bool {
    match arguments {
        [_, word, dir, ..] => {
            word == OsStr::new(SHIM_ARGUMENT)
                && dirs.iter().any(|it| is_same_place(it.path(), Path::new(dir)))
        }
        _ => false,
    }
}

/// The directory itself is gone: the one in which it was tells whether two paths mean the same.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let parent = |path: &Path| path.parent().and_then(|parent| parent.canonicalize().ok());
    one == other
        || (one.file_name() == other.file_name() && parent(one).is_some_and(|it| Some(it) == parent(other)))
}

/// The live ones of these processes, and what is below them, the nearest first.
fn members(roots: &BTreeSet<ProcessIdentity>) -> Vec<Pid> {
    let mut members = Vec::new();
    for root in roots {
        if let Some(member) = root.pin() {
            members.push(member.pid);
            tree::walk(member.pid, |below| members.push(below.pid));
        }
    }
    members
}

fn cookie_of(pid: Pid) -> Option<String> {
    let cookie = proc::environment(pid, COOKIE_VARIABLE)?;
    String::from_utf8(cookie).ok().filter(|cookie| !cookie.is_empty())
}

/// The control group of an execution. Another name would be another's group.
fn group_of(cookie: &str, members: &[Pid]) -> Option<Cgroup> {
    let name = crate::wire::cgroup_name(cookie);
    let of_members = members
        .iter()
        .find_map(|pid| Cgroup::holding(*pid).filter(|group| group.path().ends_with(&name)));
    of_members
        .or_else(|| Cgroup::place(&name).ok())
        .filter(Cgroup::exists)
}

/// What to look for in environments; without a cookie something that nobody has.
fn assignment(cookie: Option<&str>) -> Vec<u8> {
    cookie.map_or_else(Vec::new, crate::wire::cookie_assignment)
}
