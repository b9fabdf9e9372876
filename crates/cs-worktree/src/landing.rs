//! Landing: a card's commits become part of the user's local base branch.
//!
//! Three acts, so that the caller can journal in between. *Plan* makes the commits in the store and touches nothing of the user's.
//! *Execute* moves the base: a compare-and-set where no working tree has it checked out, else a fast-forward in that
//! tree. *Recover* tells, after a crash, whether the move happened, and undoes a half one.
//!
//! By which [`LandMethod`] the commits are made, the last of them carries the card and the landing as trailers, so that the same
//! landing is recognised later. A merge makes a merge commit of the base (first parent) and the card, also where the card could be
//! fast-forwarded, so that there is one commit to revert. All of it is made in the store and fast-forwarded to, because only a
//! fast-forward can be told not to overwrite ignored files.
//!
//! A card whose work came to the base in another way, merged, rebased or squashed by a person, is [`LandingPlan::AlreadyLanded`].

mod already;
mod conflict;
mod execute;
mod index;
mod look;
mod make;
mod plan;
mod preflight;
mod preview;
mod quarantine;
mod rebase;
mod recover;
mod refusal;
mod rollback;
mod transfer;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::keys::{BranchName, CodebaseKey, LandingKey, Oid};
use crate::path::RepoPath;
use crate::pattern::BranchPattern;
use crate::repository::Repository;
use crate::runner::Identity;
use crate::tree::TreeSpec;

pub(crate) use plan::base_in_store;

pub use already::{LandedHow, WorkInBase};
pub use conflict::{Conflict, ConflictText, ConflictedFile};
pub use preview::{Preview, PreviewSpec};
pub use refusal::Refusal;

/// How a card's commits come to its base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandMethod {
    /// A merge commit of the base and the card.
    #[default]
    Merge,
    /// One commit with everything that the card changed.
    Squash,
    /// The card's commits one by one on top of the base, without its merges and without those that change nothing there.
    Rebase,
}

/// What is to land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingSpec {
    /// Names this landing; repeated, it lands once.
    pub landing: LandingKey,
    /// The card.
    pub tree: TreeSpec,
    /// The user's branch to land on: the base of the card, or another.
    pub base: BranchName,
    /// How.
    pub method: LandMethod,
    /// The branches that must not be moved here.
    pub protected: Vec<BranchPattern>,
    /// The commit of the card that was accepted.
    pub head: Oid,
    /// The message of the merge or squash commit; trailers are added. A rebase keeps the messages of the card.
    pub message: String,
    /// Whose merge or squash it is; the committer is the identity of [`crate::Git`]. A rebase keeps the authors of the card.
    pub author: Identity,
}

impl LandingSpec {
    /// A merge onto the base of the card, by `cs-panel`, with no rule about any branch.
    #[must_use]
    pub fn merge(landing: LandingKey, tree: TreeSpec, head: Oid, message: impl Into<String>) -> Self {
        Self {
            landing,
            base: tree.base_branch.clone(),
            tree,
            method: LandMethod::Merge,
            protected: Vec::new(),
            head,
            message: message.into(),
            author: Identity::default(),
        }
    }
}

/// What a landing comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingPlan {
    /// The base contains the work of the card already.
    AlreadyLanded {
        /// The commit of the base that has it; the tip of the base where no single one can be named.
        commit: Oid,
        /// How it came there.
        how: LandedHow,
    },
    /// The card has no commit of its own, or its commits change nothing.
    NothingToLand,
    /// The card and the base changed the same thing. No ref has moved.
    Conflict(Conflict),
    /// The commits are made; journal the move, then execute it.
    Ready(Move),
    /// The base must not be moved now. No ref has moved.
    Refused(Refusal),
}

/// A planned move of a base branch. Journal it before [`crate::Worktrees::execute_move`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// The landing.
    pub landing: LandingKey,
    /// The codebase.
    pub codebase: CodebaseKey,
    /// The user's repository.
    pub repository: Repository,
    /// The branch to move.
    pub base_branch: BranchName,
    /// Its commit before.
    pub old: Oid,
    /// Its commit after: the merge commit, the squash commit, or the last of the rebased ones.
    pub new: Oid,
    /// By which way.
    pub how: How,
    /// What holds, in the user's repository, what the card committed; `None` where nothing of ours does.
    #[serde(default)]
    pub held: Option<Box<Held>>,
}

/// A ref, and the commit that it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Its full name.
    pub name: String,
    /// Its commit.
    pub commit: Oid,
}

/// By which way a base is moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// No working tree has it checked out: compare-and-set of the ref.
    NotCheckedOut,
    /// A working tree has it checked out: a fast-forward merge there.
    CheckedOut {
        /// The root of that working tree.
        worktree: PathBuf,
        /// Its own git directory.
        git_dir: PathBuf,
    },
}

/// What became of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveOutcome {
    /// The base contains the commit that lands.
    Moved,
    /// The base has another commit, or is checked out elsewhere, than planned: plan again. Nothing was moved.
    BaseMoved,
    /// The base must not be moved now. Nothing was moved.
    Refused(Refusal),
}

/// What a crash left of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveRecovery {
    /// The base contains the commit that lands.
    Done,
    /// Nothing was begun: plan again.
    NotMoved,
    /// Half-written files were put back to what they were: plan again.
    RolledBack,
    /// Like [`MoveRecovery::RolledBack`], but for these files: somebody has edited them since, so they were left alone.
    ForeignEdits {
        /// The files.
        files: Vec<RepoPath>,
    },
    /// A git process still works there, or has left its lock of the index behind; ask again later.
    Busy,
}
