//! Is anybody still at it? Git processes outlive a starter that dies hard, so leftovers are judged only after a look.

use std::path::Path;

use cs_supervise::onlooker::{Onlooked, others};

/// What is known about the processes that could be using a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    /// At least one lives.
    Some,
    /// Proven: none lives.
    None,
    /// This system does not tell.
    Unknown,
}

/// Whether another git process has `path` among its arguments, or any other process holds a file below it open.
pub(crate) fn users_of(path: &Path) -> Users {
    // Only git itself counts by its arguments: an editor or a shell that was given the path holds no lock of git's.
    any(|process| is_git(process) && process.mentions(path) || process.holds_open(path))
}

/// A process that can be seen and has its working directory below `path`: its number, and the short name of its program.
pub(crate) fn works_in(path: &Path) -> Option<(i32, String)> {
    let found = others()
        .ok()?
        .into_iter()
        .find(|process| process.works_in(path))?;
    Some((found.pid(), String::from_utf8_lossy(&found.name()).into_owned()))
}

/// Whether a git process works in one of the directories: there, or with it among its arguments.
pub(crate) fn git_in(dirs: &[&Path]) -> Users {
    any(|process| {
        is_git(process)
            && dirs
                .iter()
                .any(|dir| process.works_in(dir) || process.mentions(dir))
    })
}

fn any(is_user: impl Fn(&Onlooked) -> bool) -> Users {
    match others() {
        Ok(processes) if processes.is_empty() => Users::Unknown,
        Ok(processes) if processes.iter().any(is_user) => Users::Some,
        Ok(_) => Users::None,
        Err(_) => Users::Unknown,
    }
}

/// Git and its own commands; not programs around git, which may stay open for days.
fn is_git(process: &Onlooked) -> bool {
    let name = process.name();
    name == b"git" || name.starts_with(b"git-")
}
