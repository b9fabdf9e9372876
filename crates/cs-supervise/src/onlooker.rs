//! A look at processes that are not ours: who works in a directory, who holds a file. It reads and never signals.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::proc;

/// A process as it can be seen from outside. It may be gone by now; then nothing is true of it.
#[derive(Debug)]
pub struct Onlooked {
    pid: i32,
    dir: PathBuf,
}

/// Lists all other processes that this user can see.
///
/// # Errors
/// The system does not tell (`/proc` is not mounted).
pub fn others() -> io::Result<Vec<Onlooked>> {
    let own = rustix::process::getpid();
    let others = proc::all()?.into_iter().filter(|pid| *pid != own);
    Ok(others
        .map(|pid| Onlooked {
            pid: pid.as_raw_nonzero().get(),
            dir: PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero())),
        })
        .collect())
}

impl Onlooked {
    /// Its number, for people: it may be another process's by now.
    #[must_use]
    pub const fn pid(&self) -> i32 {
        self.pid
    }

    /// The short name that the kernel gives the process: at most 15 bytes of its program's name.
    #[must_use]
    pub fn name(&self) -> Vec<u8> {
        let mut name = fs::read(self.dir.join("comm")).unwrap_or_default();
        if name.last() == Some(&b'\n') {
            name.pop();
        }
        name
    }

    /// Whether its command line contains this path.
    #[must_use]
    pub fn mentions(&self, path: &Path) -> bool {
        fs::read(self.dir.join("cmdline"))
            .is_ok_and(|line| memchr::memmem::find(&line, path.as_os_str().as_bytes()).is_some())
    }

    /// Whether its working directory is this one, or below it.
    #[must_use]
    pub fn works_in(&self, path: &Path) -> bool {
        fs::read_link(self.dir.join("cwd")).is_ok_and(|cwd| cwd.starts_with(path))
    }

    /// Whether it has this file open, or one below it. Processes of other users do not tell.
    #[must_use]
    pub fn holds_open(&self, path: &Path) -> bool {
        let Ok(open) = fs::read_dir(self.dir.join("fd")) else {
            return false;
        };
        open.flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|file| file.starts_with(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_among_the_others() {
        let own = PathBuf::from(format!("/proc/{}", std::process::id()));
        let others = others().expect("/proc is there");
        assert!(others.iter().all(|other| other.dir != own));
    }
}
