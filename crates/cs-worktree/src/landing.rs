//! Landing: a card's commits become part of the user's local base branch.
//!
//! Three acts, so that the caller can journal in between. *Plan* merges in the store and touches nothing of the user's.
//! *Execute* moves the base: a compare-and-set where no working tree has it checked out, else a fast-forward in that
//! tree. *Recover* tells, after a crash, whether the move happened, and undoes a half one.
//!
//! A landing always makes a merge commit of the base (first parent) and the card, also where the card could be
//! fast-forwarded: it carries the card and the landing as trailers, so that the same landing is recognised later, and one
//! commit to revert. It is made in the store and fast-forwarded to, because only a fast-forward can be told not to
//! overwrite ignored files.

mod execute;
mod plan;
mod preflight;
mod recover;
mod rollback;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::busy::BusyWith;
use crate::keys::{BranchName, CodebaseKey, LandingKey, Oid};
use crate::path::RepoPath;
use crate::repository::Repository;
use crate::runner::Identity;
use crate::tree::TreeSpec;

/// What is to land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingSpec {
    /// Names this landing; repeated, it lands once.
    pub landing: LandingKey,
    /// The card, with its base branch.
    pub tree: TreeSpec,
    /// The commit of the card that was accepted.
    pub head: Oid,
    /// The message of the merge commit; trailers are added.
    pub message: String,
    /// Whose merge it is; the committer is the identity of [`crate::Git`].
    pub author: Identity,
}

/// What a landing comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingPlan {
    /// The base contains the card already, by this commit.
    AlreadyLanded {
        /// The merge commit of this landing, or the card's own commit when it came to the base in another way.
        commit: Oid,
    },
    /// The card has no commit of its own.
    NothingToLand,
    /// The card and the base changed the same thing. No ref has moved.
    Conflict {
        /// The files in conflict; may be empty for a conflict that has no file.
        files: Vec<RepoPath>,
        /// What git says about them.
        messages: Vec<String>,
    },
    /// The merge is made; journal the move, then execute it.
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
    /// Its commit after: the merge commit.
    pub new: Oid,
    /// By which way.
    pub how: How,
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

/// Why a base must not be moved now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The base branch does not exist.
    BaseMissing,
    /// Something is under way in a working tree that holds the base.
    BaseBusy(BusyWith),
    /// More than one working tree has the base checked out.
    CheckedOutTwice,
    /// The working tree that has the base checked out is not there.
    CheckoutMissing,
    /// The card and the base have no commit in common.
    UnrelatedHistories,
    /// The user has uncommitted changes in files that the landing changes.
    DirtyOverlap {
        /// The files.
        files: Vec<RepoPath>,
    },
    /// The user has untracked files where the landing adds files.
    UntrackedOverlap {
        /// The files.
        files: Vec<RepoPath>,
    },
    /// The user has ignored files where the landing adds files.
    IgnoredOverlap {
        /// The files.
        files: Vec<RepoPath>,
    },
    /// Git refused the merge for another reason; nothing was changed.
    ByGit,
}

impl fmt::Display for Refusal {
    /// Says it to a person, with what to do and without local paths.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = |text: &str, files: &[RepoPath]| {
            let shown: Vec<String> = files.iter().take(20).map(RepoPath::to_string).collect();
            let more = files.len().saturating_sub(shown.len());
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            write!(f, "{text}: {}{more}", shown.join(", "))
        };
        match self {
            Self::DirtyOverlap { files } => list(
                "the landing changes files that have uncommitted changes; commit or stash them",
                files,
            ),
            Self::UntrackedOverlap { files } => list(
                "the landing adds files that are there, untracked; move them away or commit them",
                files,
            ),
            Self::IgnoredOverlap { files } => list(
                "the landing adds files that are there and ignored; move them away",
                files,
            ),
            Self::BaseBusy(what) => write!(f, "{}; finish it first", what.text()),
            Self::BaseMissing => f.write_str("the base branch does not exist"),
            Self::CheckedOutTwice => {
                f.write_str("the base branch is checked out in more than one working tree")
            }
            Self::CheckoutMissing => f.write_str(
                "the working tree that has the base checked out is gone; run `git worktree prune`",
            ),
            Self::UnrelatedHistories => f.write_str("the card and the base branch have no commit in common"),
            Self::ByGit => f.write_str("git refused to fast-forward the checked-out base branch"),
        }
    }
}

/// What became of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveOutcome {
    /// The base contains the merge commit.
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
    /// The base contains the merge commit.
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
    /// A git process still works there; ask again later.
    Busy,
}
