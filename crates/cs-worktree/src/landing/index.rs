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

/// A held lock of an index. Until git works on the copy it is let go of when it is dropped, so that nothing but a death leaves it. From
/// then on [`IndexLock::keep`] or [`IndexLock::release`] does that: what is left otherwise tells [`crate::Worktrees::recover_move`] that a
/// move was under way.
#[derive(Debug)]
#[must_use]
pub(super) struct IndexLock {
    index: PathBuf,
    lock: PathBuf,
    copy: PathBuf,
    words: String,
    is_let_go_of: bool,
}

/// Whether the copy has taken the index's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It has, or had already.
    Yes,
    /// Somebody has removed the lock meanwhile, and may have written the index: it is theirs.
    No,
}

impl IndexLock {
    /// Locks the index and copies it, also where a dead process of ours has left it locked. `None`: somebody else holds it.
    pub(super) async fn take(
        store: &Store,
        landing: &Move,
        place: Place<'_>,
    ) -> Result<Option<Self>, WorktreeError> {
        let mut it = Self::of(landing, place);
        if !it.lock()? && !it.is_ours() {
            return Ok(None);
        }
        it.is_let_go_of = true;
        it.copy(store, place).await?;
        Ok(Some(it))
    }

    /// What a dead process of ours has left for this landing: the lock, or the copy without it.
    pub(super) fn left(landing: &Move, place: Place<'_>) -> Option<Self> {
        let it = Self::of(landing, place);
        (it.is_ours() || it.copy.symlink_metadata().is_ok()).then_some(it)
    }

    /// Whether this landing's lock is there.
    pub(super) fn is_left(landing: &Move, place: Place<'_>) -> bool {
        Self::of(landing, place).is_ours()
    }

    /// From now on the copy may be worth more than the index.
    pub(super) fn in_use(&mut self) {
        self.is_let_go_of = false;
    }

    fn of(landing: &Move, place: Place<'_>) -> Self {
        let index = place.git_dir.join("index");
        // Git locks what a link points to.
        let index = index.canonicalize().unwrap_or(index);
        Self {
            lock: beside(&index, ".lock"),
            copy: beside(&index, &format!(".cs-panel-{}", landing.landing)),
            words: format!("cs-panel holds the index for landing {}.\n", landing.landing),
            is_let_go_of: false,
            index,
        }
    }

    /// The index that git works on meanwhile.
    pub(super) fn path(&self) -> &Path {
        &self.copy
    }

    /// Puts the copy, where it is still there, in the index's place, and lets go of that. A person may have removed the lock, as git tells
    /// them to: then their index stays.
    pub(super) fn keep(mut self) -> Result<Kept, WorktreeError> {
        self.is_let_go_of = false;
        if !self.is_ours() {
            remove(&self.copy)?;
            return Ok(Kept::No);
        }
        match fs::rename(&self.copy, &self.index) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(WorktreeError::io("put in place", &self.index)(error));
            }
            Ok(()) | Err(_) => {}
        }
        remove(&self.lock)?;
        Ok(Kept::Yes)
    }

    /// Lets go of the index as it was.
    pub(super) fn release(mut self) -> Result<(), WorktreeError> {
        self.is_let_go_of = false;
        self.let_go()
    }

    fn let_go(&self) -> Result<(), WorktreeError> {
        remove(&self.copy)?;
        if self.is_ours() {
            remove(&self.lock)?;
        }
        Ok(())
    }

    fn lock_of_copy(&self) -> PathBuf {
        beside(&self.copy, ".lock")
    }

    /// Whether the lock file says our words. Git never reads them; a person may.
    fn is_ours(&self) -> bool {
        fs::read(&self.lock).is_ok_and(|said| said == self.words.as_bytes())
    }

    /// Takes the lock with its words in it, so that a crash leaves none that nobody knows. Says whether it was free.
    fn lock(&self) -> Result<bool, WorktreeError> {
        let note = self.lock_of_copy();
        let written = File::create(&note).and_then(|mut file| {
            file.write_all(self.words.as_bytes())?;
            file.sync_all()
        });
        written.map_err(WorktreeError::io("write", &note))?;
        let taken = match fs::hard_link(&note, &self.lock) {
            // Not every file system has these.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => self.lock_without_link(),
            linked => linked,
        };
        remove(&note)?;
        match taken {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(WorktreeError::io("lock", &self.index)(error)),
        }
    }

    fn lock_without_link(&self) -> io::Result<()> {
        let mut lock = File::create_new(&self.lock)?;
        let written = lock.write_all(self.words.as_bytes());
        if written.is_err() {
            fs::remove_file(&self.lock)?;
        }
        written
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

impl Drop for IndexLock {
    fn drop(&mut self) {
        if self.is_let_go_of
            && let Err(error) = self.let_go()
        {
            tracing::warn!(%error, "the index of a base stays locked until its landing is taken up again");
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
