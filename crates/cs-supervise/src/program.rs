//! The program that becomes a shim.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A program that becomes a shim when it is told to: any that calls [`run_if_requested`](crate::shim::run_if_requested)
/// first thing in its `main`.
#[derive(Debug)]
pub struct ShimProgram {
    path: PathBuf,
    open_files: Option<u64>,
    /// Keeps `path` meaning the same file.
    _executable: Option<File>,
}

impl ShimProgram {
    /// The running program itself, held open: it can still be started after an upgrade has replaced its file.
    ///
    /// # Errors
    /// `/proc` does not tell which program runs.
    pub fn current() -> io::Result<Self> {
        let executable = File::open("/proc/self/exe")?;
        // The new process reads this path before it closes what is closed on exec.
        let path = PathBuf::from(format!("/proc/self/fd/{}", executable.as_raw_fd()));
        Ok(Self {
            path,
            open_files: None,
            _executable: Some(executable),
        })
    }

    /// A program at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            open_files: None,
            _executable: None,
        }
    }

    /// The same program, whose shims and their agents may open so many files (the soft limit of `RLIMIT_NOFILE`): for a caller that has
    /// raised its own limit, which they would have from it.
    #[must_use]
    pub fn with_open_files(mut self, most: u64) -> Self {
        self.open_files = Some(most);
        self
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn open_files(&self) -> Option<u64> {
        self.open_files
    }
}
