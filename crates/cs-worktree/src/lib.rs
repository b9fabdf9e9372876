//! One git working tree per card: clone, salvage and landing, without touching the user's own.
//!
//! A tree is a clone with its own `.git`, from a bare store that only this crate writes. What an agent configures or
//! breaks in its `.git` reaches nobody else: the tree is read with *our* git directory, *its* files and a temporary index,
//! so that none of its hooks, filters and settings runs. In the user's repository this crate writes objects,
//! `refs/heads/cs/*`, `refs/cs-panel/*`, and the base branch at a landing; never the index or the files, except for a
//! landing on a branch that is checked out, which `git merge --ff-only` carries out after a preflight.
//!
//! The life of a card: [`Repository::inspect`], [`Worktrees::prepare_tree`], [`Worktrees::bring_along`], after each attempt
//! [`Worktrees::collect`] and on any doubtful ending [`Worktrees::salvage`]; then [`Worktrees::plan_landing`] and
//! [`Worktrees::execute_move`] (with the [`Move`] journaled in between, so that [`Worktrees::recover_move`] can finish or undo it
//! after a crash); where it is to be pushed, [`Worktrees::publish`] comes before the move; at the end [`Worktrees::discard`], and later [`Worktrees::empty_trash`]. A worker has a tree of its own,
//! [`TreeSpec::for_worker`], and [`Worktrees::bring_workers`] takes its commits to the owner's tree.
//!
//! The way back: [`Worktrees::saved_work`] and [`Worktrees::trashed`] list what was saved and what was removed, with a reason and
//! a time; [`Worktrees::saved_detail`] shows it; [`Worktrees::restore_to_directory`], [`Worktrees::restore_to_branch`] and
//! [`Worktrees::restore_trashed`] bring it back.
//!
//! It must never know the record, runs, prompts or harnesses, and it reads neither the process environment nor a clock.
//! Limits: 120 s for a git call (30 min to copy or check out a repository, 10 min for a landing's merge), 64 MiB of its output, 20,000 files, 50 MiB per file and
//! 1 GiB in all for a salvage.
//!
//! A tree and the store share the files of their objects where the file system can: who writes into an object of a tree in place
//! damages the store's. A salvage therefore reads what it saved.
//!
//! Fit for an agent that is careless; one that is hostile and runs under the same user can write to the store.

mod along;
mod base;
mod borders;
mod busy;
mod collect;
mod diff;
mod discard;
mod disk;
mod error;
mod export;
mod fetch;
mod forget;
mod gather;
mod ignored;
mod inside;
mod keys;
mod landing;
mod lfs;
mod locks;
mod manifest;
mod mounts;
mod objects;
mod parse;
mod path;
mod pattern;
mod person;
pub mod plain;
mod probe;
mod procs;
mod publish;
mod readback;
mod removal;
mod repository;
mod restore;
mod runner;
mod salvage;
mod saved;
mod special;
mod staged;
mod status;
mod store;
mod transport;
mod tree;
mod upkeep;
mod verify;
mod walk;
mod workers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use along::{BroughtAlong, LeftBehind};
pub use base::{BaseFrom, BaseSeen, DefaultBranch, RemoteTrouble, Standing, Upstream};
pub use borders::{Border, Borders};
pub use busy::BusyWith;
pub use collect::{Collected, UserBranch};
pub use diff::CommitSummary;
pub use discard::{DiscardProof, Emptied, Trashed};
pub use error::{ErrorClass, GitError, WorktreeError};
pub use forget::RunRefs;
pub use ignored::Hidden;
pub use inside::SavedInside;
pub use keys::{BranchName, CardKey, CodebaseKey, InvalidName, KEY_MAX_BYTES, LandingKey, Oid, RunKey};
pub use landing::{
    Conflict, ConflictText, ConflictedFile, Held, How, LandMethod, LandedHow, LandingPlan, LandingSpec, Move,
    MoveOutcome, MoveRecovery, Preview, PreviewSpec, Refusal, WorkInBase,
};
pub use path::{InvalidPath, RepoPath};
pub use pattern::BranchPattern;
pub use probe::GIT_NEEDED;
pub use publish::{LocalAfterPublish, Outlook, Publish, PublishTo, Published, RemoteBranch, Verdict};
pub use repository::{Inspection, Repository};
pub use runner::{Git, GitSetup, Identity, OUTPUT_MAX_BYTES};
pub use salvage::{Completeness, Salvage};
pub use saved::{SavedDetail, SavedWork};
pub use special::Special;
pub use status::{EntryKind, StatusEntry, TreeStatus};
pub use transport::Transport;
pub use tree::{Attachment, PersonCommits, Prepared, Tree, TreeSpec};
pub use upkeep::{Packed, StoreFiles};
pub use verify::Throwaway;
pub use workers::WorkerBranch;

use locks::{CodebaseLock, CodebaseLocks};
use store::Store;

/// All stores and trees below one state directory. Cheap to clone; all clones share their locks.
#[derive(Debug, Clone)]
pub struct Worktrees {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    git: Git,
    locks: CodebaseLocks,
    borders: Borders,
}

impl Worktrees {
    /// Works below `root`, an absolute path: `repos/` for the stores, `cards/` for the trees, `trash/` for removed ones,
    /// all on one file system. The directories are made when they are needed.
    #[must_use]
    pub fn new(root: PathBuf, git: Git) -> Self {
        Self::with_borders(root, git, Borders::none())
    }

    /// The same, ending the process at a border: for tests of what follows.
    #[must_use]
    pub fn with_borders(root: PathBuf, git: Git, borders: Borders) -> Self {
        let inner = Inner {
            root: disk::real(&root),
            git,
            locks: CodebaseLocks::default(),
            borders,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The git program in use.
    #[must_use]
    pub fn git(&self) -> &Git {
        &self.inner.git
    }

    /// Makes the store of a codebase if it is missing, and fetches the user's branches into it.
    ///
    /// Idempotent and safe beside other tasks and processes; a crash leaves no half store.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git or the disk failed.
    pub async fn ensure_store(
        &self,
        codebase: &CodebaseKey,
        repository: &Repository,
    ) -> Result<(), WorktreeError> {
        let _lock = self.lock(codebase).await?;
        self.store(codebase).refresh(repository).await
    }

    pub(crate) fn borders(&self) -> Borders {
        self.inner.borders
    }

    pub(crate) fn reach(&self, border: Border) {
        self.inner.borders.reach(border);
    }

    pub(crate) fn root(&self) -> &Path {
        &self.inner.root
    }

    fn codebase_dir(&self, codebase: &CodebaseKey) -> PathBuf {
        self.inner.root.join("repos").join(codebase.as_str())
    }

    pub(crate) fn store(&self, codebase: &CodebaseKey) -> Store {
        let dir = self.codebase_dir(codebase);
        Store {
            git: self.inner.git.clone(),
            borders: self.inner.borders,
            temp: dir.join("tmp"),
            quarantine: None,
            dir: dir.join("store.git"),
        }
    }

    pub(crate) async fn lock(&self, codebase: &CodebaseKey) -> Result<CodebaseLock, WorktreeError> {
        self.inner
            .locks
            .take(codebase, &self.codebase_dir(codebase))
            .await
    }
}
