//! The index of the working tree that has the base checked out, locked as git locks it while the base moves.
//!
//! `git merge` reads the index before it locks it, and lets go of it before it moves the branch. What a person stages or commits in
//! these moments is lost from the index, or takes their branch away under a merge that has written its files already. So we hold git's
//! own lock all the time, let git work on a copy, and put that in the index's place when the branch has moved.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::Move;
use super::preflight::Place;
use crate::error::WorktreeError;
use crate::store::Store;

/// A held lock of an index. It is let go of by [`IndexLock::keep`] and [`IndexLock::release`] only: what is left otherwise tells
/// [`crate::Worktrees::recover_move`] that a move was under way.
#[derive(Debug)]
#[must_use]
pub(super) struct IndexLock {
    index: PathBuf,
    lock: PathBuf,
    copy: PathBuf,
}

impl IndexLock {
    /// Locks the index and copies it, also where a dead process of ours has left it locked. `None`: somebody else holds it.
    pub(super) async fn take(
        store: &Store,
        landing: &Move,
        place: Place<'_>,
    ) -> Result<Option<Self>, WorktreeError> {
        let it = Self::of(landing, place);
        if !it.lock(landing)? && !it.is_ours(landing) {
            return Ok(None);
        }
        it.copy(store, place).await?;
        Ok(Some(it))
    }

    /// The lock that a dead process of ours has left for this landing.
    pub(super) fn left(landing: &Move, place: Place<'_>) -> Option<Self> {
        let it = Self::of(landing, place);
        it.is_ours(landing).then_some(it)
    }

    fn of(landing: &Move, place: Place<'_>) -> Self {
        let index = place.git_dir.join("index");
        // Git locks what a link points to.
        let index = index.canonicalize().unwrap_or(index);
        Self {
            lock: beside(&index, ".lock"),
            copy: beside(&index, &format!(".cs-panel-{}", landing.landing)),
            index,
        }
    }

    /// The index that git works on meanwhile.
    pub(super) fn path(&self) -> &Path {
        &self.copy
    }

    /// Puts the copy, where it is still there, in the index's place, and lets go of that.
    pub(super) fn keep(self) -> Result<(), WorktreeError> {
        match fs::rename(&self.copy, &self.index) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(WorktreeError::io("put in place", &self.index)(error));
            }
            Ok(()) | Err(_) => {}
        }
        remove(&self.lock)
    }

    /// Lets go of the index as it was.
    pub(super) fn release(self) -> Result<(), WorktreeError> {
        remove(&self.copy)?;
        remove(&self.lock)
    }

    fn lock_of_copy(&self) -> PathBuf {
        beside(&self.copy, ".lock")
    }

    /// What the lock file says. Git never reads it; a person may.
    fn words(landing: &Move) -> String {
        format!("cs-panel holds the index for landing {}.\n", landing.landing)
    }

    fn is_ours(&self, landing: &Move) -> bool {
        fs::read(&self.lock).is_ok_and(|said| said == Self::words(landing).as_bytes())
    }

    /// Takes the lock with its words in it, so that a crash leaves none that nobody knows. Says whether it was free.
    fn lock(&self, landing: &Move) -> Result<bool, WorktreeError> {
        let words = Self::words(landing);
        let note = self.lock_of_copy();
        fs::write(&note, &words).map_err(WorktreeError::io("write", &note))?;
        let taken = match fs::hard_link(&note, &self.lock) {
            // Not every file system has these.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                File::create_new(&self.lock).and_then(|mut lock| lock.write_all(words.as_bytes()))
            }
            linked => linked,
        };
        remove(&note)?;
        match taken {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(WorktreeError::io("lock", &self.index)(error)),
        }
    }

    async fn copy(&self, store: &Store, place: Place<'_>) -> Result<(), WorktreeError> {
        // Of a git that died on the copy.
        remove(&self.lock_of_copy())?;
        match copy_with_time(&self.index, &self.copy) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                remove(&self.copy)?;
                let empty = place.call("read-tree").index(&self.copy);
                store.git.ok(empty.args(["read-tree", "--empty"])).await?;
                Ok(())
            }
            copied => copied.map_err(WorktreeError::io("copy", &self.index)),
        }
    }
}

/// Git takes a file that changed when its index was written for one that may have changed since, so a copy is as old as the index.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(modified)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn remove(path: &Path) -> Result<(), WorktreeError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(WorktreeError::io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
