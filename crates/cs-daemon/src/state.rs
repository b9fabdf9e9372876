//! The state directory of a machine: where everything lives that must survive the daemon.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cs_model::{CardId, Epoch, RunId};

use crate::executions::execution_name;

/// Why a state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It cannot be made or written.
    #[error("cannot use the state directory {}: {what}; give a directory that you can write with --state-dir", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Its file system has no file locks.
    #[error("the file system of the state directory {} has no file locks, without which two daemons could work at once; give a directory on a local file system with --state-dir", path.display())]
    NoLocks {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another daemon holds it.
    #[error("another `cs-panel run` works on the state directory {}; there can be one: use it, or give another directory with --state-dir", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
}

/// The state directory of one machine. Everything in it is for its user only (0700, 0600).
#[derive(Debug, Clone)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// Opens a state directory, makes it if it is not there, and proves that it can be written and locked.
    ///
    /// # Errors
    /// [`StateError::Unusable`], [`StateError::NoLocks`].
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let unusable = |what| {
            let path = path.to_owned();
            move |source| StateError::Unusable { path, what, source }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(unusable("cannot make it"))?;
        let root = fs::canonicalize(path).map_err(unusable("cannot resolve it"))?;
        let state = Self { root };
        let probe = open_private(&state.root.join("lock.probe")).map_err(unusable("cannot write in it"))?;
        match probe.try_lock() {
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => {
                return Err(StateError::NoLocks {
                    path: path.to_owned(),
                    source,
                });
            }
        }
        for dir in [
            state.executions(),
            state.plain_dirs(),
            state.pauses(),
            state.doubts(),
        ] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(unusable("cannot make a directory in it"))?;
        }
        Ok(state)
    }

    /// Names a state directory that is there, to read it only: it may be that nobody can write it now.
    ///
    /// # Errors
    /// [`StateError::Unusable`].
    pub fn at(path: &Path) -> Result<Self, StateError> {
        let unusable = |source| StateError::Unusable {
            path: path.to_owned(),
            what: "cannot resolve it",
            source,
        };
        let root = fs::canonicalize(path).map_err(unusable)?;
        Ok(Self { root })
    }

    /// Takes the daemon's lock: at most one process at a time has it, and it goes with the process.
    ///
    /// # Errors
    /// [`StateError::Busy`] while another process has it; [`StateError::Unusable`].
    pub fn lock(&self) -> Result<StateLock, StateError> {
        let unusable = |source| StateError::Unusable {
            path: self.root.clone(),
            what: "cannot lock it",
            source,
        };
        let file = open_private(&self.lock_path()).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(StateLock {
                state: self.clone(),
                file,
            }),
            Err(TryLockError::WouldBlock) => Err(StateError::Busy {
                path: self.root.clone(),
            }),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    fn lock_path(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Returns the directory itself, absolute and without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns where the embedded record lives.
    #[must_use]
    pub fn record(&self) -> PathBuf {
        self.root.join("record.db")
    }

    /// Returns where the ledger lives.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// Returns where the daemon's control socket is.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.root.join("control")
    }

    /// Returns where the machine's identity is kept.
    #[must_use]
    pub fn machine(&self) -> PathBuf {
        self.root.join("machine.json")
    }

    /// Returns where the checkouts of the codebases are noted; local paths never reach the record.
    #[must_use]
    pub fn checkouts(&self) -> PathBuf {
        self.root.join("checkouts.json")
    }

    /// Returns where the hashes of this directory's daemons are kept.
    pub(crate) fn daemons(&self) -> PathBuf {
        self.root.join("daemons.json")
    }

    /// Returns where the local log is written.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Returns the directory of all git stores, working trees and the trash.
    #[must_use]
    pub fn git(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// Returns the directory of all executions.
    #[must_use]
    pub fn executions(&self) -> PathBuf {
        self.root.join("executions")
    }

    /// Returns where the port of the tools is noted.
    pub(crate) fn tools_port(&self) -> PathBuf {
        self.root.join("tools.port")
    }

    /// Returns where the ranges of ports are noted.
    pub(crate) fn ports(&self) -> PathBuf {
        self.root.join("ports.json")
    }

    /// Returns where directories are while they are removed.
    pub(crate) fn going(&self) -> PathBuf {
        self.root.join("going")
    }

    /// Returns the directory of an execution by its name.
    #[must_use]
    pub fn execution(&self, name: &str) -> PathBuf {
        self.executions().join(name)
    }

    /// Returns the directory of the notes of which cards' branches are to be published.
    pub(crate) fn publications(&self) -> PathBuf {
        self.root.join("publications")
    }

    /// Returns the directory of the notes of who paused an agent.
    pub(crate) fn pauses(&self) -> PathBuf {
        self.root.join("pauses")
    }

    /// Returns where it is noted who paused the agent of an attempt.
    pub(crate) fn pause_note(&self, run: RunId, epoch: Epoch) -> PathBuf {
        self.pauses().join(format!("{run}.{epoch}"))
    }

    /// Returns the directory of the notes of which agents did not seem to be signed in.
    pub(crate) fn doubts(&self) -> PathBuf {
        self.root.join("not-signed-in")
    }

    /// Finds the executions of one attempt, in the order in which they were made. Their names follow from run and epoch, so
    /// that they are found again whatever else was lost.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn executions_of(&self, run: RunId, epoch: Epoch) -> io::Result<Vec<String>> {
        let first = execution_name(run, epoch, 1);
        let later = format!("{first}-");
        let mut found = Vec::new();
        for entry in fs::read_dir(self.executions())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let number = match name.strip_prefix(&later) {
                Some(number) => number.parse::<u32>().ok(),
                None => (name == first).then_some(1),
            };
            found.extend(number.map(|number| (number, name)));
        }
        found.sort();
        Ok(found.into_iter().map(|(_, name)| name).collect())
    }

    /// Returns the directory of the files that are attached to a card.
    #[must_use]
    pub fn attachments_of(&self, card: CardId) -> PathBuf {
        self.root.join("attachments").join(card.to_string())
    }

    /// Returns the working directory of a card without a codebase.
    #[must_use]
    pub fn plain_dir(&self, card: CardId) -> PathBuf {
        self.plain_dirs().join(card.to_string())
    }

    fn plain_dirs(&self) -> PathBuf {
        self.root.join("dirs")
    }
}

/// The daemon's lock on a state directory. Dropping it, or the end of the process, frees it.
#[derive(Debug)]
pub struct StateLock {
    state: StateDir,
    file: File,
}

impl StateLock {
    /// Returns the directory that is locked.
    #[must_use]
    pub fn state(&self) -> &StateDir {
        &self.state
    }

    /// Says whether the file that is locked is still the one in the state directory. Where it is not, somebody removed or replaced
    /// the directory: nobody will find there what its daemon does, and another daemon may work there.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let held = self.file.metadata();
        match held.and_then(|held| Ok((held, fs::metadata(self.state.lock_path())?))) {
            Ok((held, there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
            // What cannot be looked at now is no proof.
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_directory_has_one_daemon_at_a_time() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(&temp.path().join("deep/state")).expect("it can be made");
        let lock = state.lock().expect("nobody has it");
        assert!(matches!(state.lock(), Err(StateError::Busy { .. })));
        drop(lock);
        assert!(state.lock().is_ok());
    }

    #[test]
    fn a_lock_tells_when_its_state_directory_was_removed_or_replaced() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = temp.path().join("state");
        let lock = StateDir::open(&path).and_then(|state| state.lock());
        let lock = lock.expect("nobody has it");
        assert!(lock.is_in_place());
        fs::remove_dir_all(&path).expect("removed");
        assert!(!lock.is_in_place());
        let other = StateDir::open(&path).and_then(|state| state.lock());
        assert!(other.expect("nobody has the new one").is_in_place());
        assert!(!lock.is_in_place());
    }

    #[test]
    fn executions_of_an_attempt_are_found_in_their_order() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(temp.path()).expect("it can be made");
        let run = RunId::from_uuid("0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b".parse().expect("a uuid"));
        let mut made = Vec::new();
        for number in 1..=3 {
            let name = execution_name(run, Epoch::new(1), number);
            fs::create_dir(state.execution(&name)).expect("made");
            made.push(name);
        }
        fs::create_dir(state.execution(&execution_name(run, Epoch::new(11), 1))).expect("made");
        assert_eq!(state.executions_of(run, Epoch::new(1)).expect("readable"), made);
        assert_eq!(
            state.executions_of(run, Epoch::new(2)).expect("readable"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_directory_that_is_only_read_is_left_as_it_is() {
        let temp = tempfile::tempdir().expect("a directory");
        assert!(StateDir::at(&temp.path().join("none")).is_err());
        StateDir::at(temp.path()).expect("it is there");
        assert_eq!(fs::read_dir(temp.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_file_in_the_place_of_the_directory_is_named() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = temp.path().join("file");
        fs::write(&path, "x").expect("written");
        let error = StateDir::open(&path).expect_err("a file is no directory");
        assert!(error.to_string().contains("file"), "{error}");
    }
}
