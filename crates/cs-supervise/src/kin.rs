//! Who descends from whom: whether a process belongs to an execution's tree, and whether this one was started in one.
//!
//! A shim is the subreaper of all that its agent starts, so that a process belongs to the tree exactly when the shim is among its
//! ancestors, whatever it has made of its session, its group and its environment.

use std::io;

use rustix::process::{Pid, getpid};

use crate::dir::{self, ExecutionDir};
use crate::identity::ProcessIdentity;
use crate::proc;
use crate::wire::{COOKIE_VARIABLE, Ident};

/// Nobody's line is longer; a line that is read while numbers change hands could go in circles.
const MOST_ANCESTORS: usize = 4096;

/// Says whether this process belongs to the tree of an execution whose shim lives. The shim itself does not.
///
/// It is a snapshot. Whoever asks about the peer of a socket has a number that was right when the peer connected: if the peer has ended
/// since, another process may have its number, and the answer is about that one.
///
/// # Errors
/// The execution's directory or `/proc` cannot be read.
pub fn belongs_to(dir: &ExecutionDir, pid: i32) -> io::Result<bool> {
    let Some(shim) = dir.read::<Ident>(dir::IDENT)?.map(|ident| ident.shim) else {
        return Ok(false);
    };
    Ok(shim.is_alive() && descends_from(pid, &shim)? && shim.is_alive())
}

fn descends_from(pid: i32, root: &ProcessIdentity) -> io::Result<bool> {
    let mut at = process(pid);
    for _ in 0..MOST_ANCESTORS {
        let Some(stat) = at.map(proc::stat).transpose()?.flatten() else {
            return Ok(false);
        };
        if stat.parent == root.pid() {
            return Ok(true);
        }
        at = process(stat.parent);
    }
    Ok(false)
}

fn process(number: i32) -> Option<Pid> {
    (number > 0).then(|| Pid::from_raw(number)).flatten()
}

/// Says whether this process was started in an execution, by the mark in its environment or in that of its nearest ancestor that has one.
/// An empty mark says that it was not: whoever sets it on purpose is taken at their word.
#[must_use]
pub fn is_in_execution() -> bool {
    let mut at = Some(getpid());
    for _ in 0..MOST_ANCESTORS {
        let Some(pid) = at else { return false };
        // What belongs to somebody else does not show its environment; its ancestors may.
        if let Ok(Some(cookie)) = proc::variable(pid, COOKIE_VARIABLE) {
            return !cookie.is_empty();
        }
        let stat = proc::stat(pid).ok().flatten();
        at = stat.and_then(|stat| process(stat.parent));
    }
    false
}
