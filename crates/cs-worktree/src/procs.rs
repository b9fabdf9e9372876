//! Is anybody still at it? Git processes outlive a starter that dies hard, so leftovers are judged only after a look.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::ByteSlice;

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

/// Whether another process has `path` among its arguments or holds a file below it open.
pub(crate) fn users_of(path: &Path) -> Users {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Users::Unknown;
    };
    let own = std::process::id().to_string();
    let mut seen_any = false;
    for process in processes.flatten() {
        let name = process.file_name();
        if !name.as_bytes().iter().all(u8::is_ascii_digit) || name.as_bytes() == own.as_bytes() {
            continue;
        }
        seen_any = true;
        if mentions(&process.path(), path) || holds_open(&process.path(), path) {
            return Users::Some;
        }
    }
    if seen_any { Users::None } else { Users::Unknown }
}

fn mentions(process: &Path, path: &Path) -> bool {
    // Only git itself counts: an editor or a shell that was given the path holds no lock of git's.
    is_git(process)
        && fs::read(process.join("cmdline")).is_ok_and(|args| args.contains_str(path.as_os_str().as_bytes()))
}

fn holds_open(process: &Path, path: &Path) -> bool {
    let Ok(open) = fs::read_dir(process.join("fd")) else {
        return false;
    };
    open.flatten()
        .any(|fd| fs::read_link(fd.path()).is_ok_and(|file| file.starts_with(path)))
}

/// Whether a process, of those that can be seen, has its working directory below `path`.
pub(crate) fn works_in(path: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    let cwd = |process: fs::DirEntry| fs::read_link(process.path().join("cwd")).ok();
    processes
        .flatten()
        .filter_map(cwd)
        .any(|cwd| cwd.starts_with(path))
}

/// Whether a git process works in one of the directories: there, or with it among its arguments.
pub(crate) fn git_in(dirs: &[&Path]) -> Users {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Users::Unknown;
    };
    let mut seen_any = false;
    for process in processes.flatten().map(|entry| entry.path()) {
        seen_any |= process.join("comm").exists();
        if !is_git(&process) {
            continue;
        }
        let cwd = fs::read_link(process.join("cwd")).unwrap_or_default();
        if dirs
            .iter()
            .any(|dir| cwd.starts_with(dir) || mentions(&process, dir))
        {
            return Users::Some;
        }
    }
    if seen_any { Users::None } else { Users::Unknown }
}

/// Git and its own commands; not programs around git, which may stay open for days.
fn is_git(process: &Path) -> bool {
    let comm = fs::read(process.join("comm")).unwrap_or_default();
    comm == b"git\n" || comm.starts_with(b"git-")
}
