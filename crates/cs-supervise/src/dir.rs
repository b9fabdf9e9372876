//! An execution's directory: names, durable writes, reads.
//!
//! | file | written by | when |
//! |---|---|---|
//! | `spec.json` | starter | before the shim is started |
//! | `lock` | shim | locked for its whole life; closed on exec, so that no descendant holds it |
//! | `ident.json` | shim | once it holds the lock |
//! | `keeper.json` | who supervises it without a shim | in place of `ident.json`, and instead of a shim for all below |
//! | `sock` | shim | its Unix socket |
//! | `stdout.spool`, `stderr.spool` | agent | appended; never renamed or cut |
//! | `stdin` | shim | at GO; its presence says that GO was received |
//! | `cgroup.json` | shim | at GO, before it makes the agent's control group |
//! | `namespace.json` | shim | with `ident.json`, when it has made a PID namespace for the agent |
//! | `agent.json` | shim | once the agent runs |
//! | `descendants.json` | shim | on its tick, when they changed |
//! | `spent.json` | shim | every 30 s: how long the agent has worked |
//! | `exit.json` | shim | when the agent has ended |
//! | `closed.json` | shim, or who finds it dead | when nothing of the tree is left |
//!
//! The directory is 0700, each file 0600. JSON files are written aside, flushed and renamed, so each is whole or absent.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) const SPEC: &str = "spec.json";
pub(crate) const IDENT: &str = "ident.json";
pub(crate) const KEEPER: &str = "keeper.json";
pub(crate) const AGENT: &str = "agent.json";
pub(crate) const DESCENDANTS: &str = "descendants.json";
pub(crate) const CGROUP: &str = "cgroup.json";
pub(crate) const NAMESPACE: &str = "namespace.json";
pub(crate) const SPENT: &str = "spent.json";
pub(crate) const EXIT: &str = "exit.json";
pub(crate) const CLOSED: &str = "closed.json";
pub(crate) const STDIN: &str = "stdin";
pub(crate) const SOCKET: &str = "sock";
const LOCK: &str = "lock";

/// The directory of one execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionDir {
    path: PathBuf,
}

impl ExecutionDir {
    /// Makes a new directory for one execution; its parent must exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when there is one: a directory serves one execution only.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        DirBuilder::new().mode(0o700).create(&path)?;
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { path })
    }

    /// Names a directory that exists, or did.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The directory's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that the agent's standard output is appended to.
    #[must_use]
    pub fn stdout_spool(&self) -> PathBuf {
        self.path.join("stdout.spool")
    }

    /// The file that the agent's standard error is appended to.
    #[must_use]
    pub fn stderr_spool(&self) -> PathBuf {
        self.path.join("stderr.spool")
    }

    /// Where the caller's transcript of this execution belongs.
    #[must_use]
    pub fn transcript(&self) -> PathBuf {
        self.path.join("transcript.jsonl")
    }

    /// Says whether it holds what any shim is started with. Without that nothing was started for it, or somebody has removed what was there.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn holds_spec(&self) -> io::Result<bool> {
        self.holds(SPEC)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn holds(&self, name: &str) -> io::Result<bool> {
        self.file(name).try_exists()
    }

    /// Reads a JSON file; `None` when it is not there.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let bytes = match fs::read(self.file(name)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let value = serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}")))?;
        Ok(Some(value))
    }

    /// Writes a JSON file so that it is whole or absent after any crash.
    pub(crate) fn write_durably<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let mut aside = Aside::create(self, name)?;
        aside.file.write_all(&serde_json::to_vec(value)?)?;
        aside.publish()
    }

    /// Writes a JSON file so that it is whole or absent after a crash of this process; a crash of the machine may lose
    /// it. For what means nothing after a boot.
    pub(crate) fn write_for_this_boot<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let mut aside = Aside::create(self, name)?;
        aside.file.write_all(&serde_json::to_vec(value)?)?;
        fs::rename(aside.path, self.file(name))
    }

    /// How much disk the two spools and the transcript occupy, which is what [`Limits::spool_bytes`](crate::Limits::spool_bytes) is about. What cannot be
    /// seen counts as nothing: it has no limit to reach.
    #[must_use]
    pub fn spool_blocks_bytes(&self) -> u64 {
        [self.stdout_spool(), self.stderr_spool(), self.transcript()]
            .iter()
            .filter_map(|file| fs::metadata(file).ok())
            .map(|file| file.blocks().saturating_mul(512))
            .fold(0, u64::saturating_add)
    }

    /// Opens a spool for appending.
    pub(crate) fn open_spool(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
    }

    /// Takes the lock; `None` when somebody holds it.
    pub(crate) fn try_lock(&self) -> io::Result<Option<Lock>> {
        let path = self.file(LOCK);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// The lock of an execution, held. A child that this process is just starting has a copy of the descriptor until its program is
/// executed, so to close ours does not give the lock back: dropping this does.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "a lock is given back only with its last copy");
        }
    }
}

/// A file that is written under another name until it is whole.
#[derive(Debug)]
pub(crate) struct Aside {
    pub(crate) file: File,
    path: PathBuf,
    dir: PathBuf,
    target: PathBuf,
}

impl Aside {
    pub(crate) fn create(dir: &ExecutionDir, name: &str) -> io::Result<Self> {
        let path = dir.file(&format!("{name}.new"));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        Ok(Self {
            file,
            path,
            dir: dir.path.clone(),
            target: dir.file(name),
        })
    }

    /// Flushes the file, gives it its name and flushes the directory.
    pub(crate) fn publish(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        File::open(&self.dir)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is made of what the agent says, line by line, and takes the same disk.
    #[test]
    fn a_transcript_counts_with_the_output_that_it_is_made_of() {
        let scratch = tempfile::tempdir().expect("a directory");
        let dir = ExecutionDir::create(scratch.path().join("execution")).expect("made");
        assert_eq!(dir.spool_blocks_bytes(), 0);
        fs::write(dir.transcript(), vec![b'x'; 1 << 20]).expect("written");
        assert!(dir.spool_blocks_bytes() >= 1 << 20);
        fs::write(dir.stderr_spool(), vec![b'x'; 1 << 20]).expect("written");
        assert!(dir.spool_blocks_bytes() >= 2 << 20);
    }
}
