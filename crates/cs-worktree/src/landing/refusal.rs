//! Why a base must not be moved now, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::busy::BusyWith;
use crate::keys::{BranchName, Oid};
use crate::path::RepoPath;

/// Why a base must not be moved now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The base branch does not exist.
    BaseMissing,
    /// A rule says that the branch is not moved here.
    Protected {
        /// The branch.
        branch: BranchName,
        /// The pattern that names it.
        pattern: String,
    },
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
    /// The card's commits, one by one on the base, come to something else than its merge: a merge of the card resolved something
    /// that is lost without it.
    RebaseDiffers,
    /// The card has too many commits to be replayed one by one.
    RebaseTooLong {
        /// How many there may be.
        max: usize,
    },
    /// This git cannot replay commits without a working tree.
    RebaseNeedsGit {
        /// The oldest version that can.
        needed: String,
    },
    /// A commit of the card cannot be replayed: it begins a history of its own.
    RebaseOfRoot {
        /// The commit.
        commit: Oid,
    },
    /// Git refused the merge for another reason; nothing was changed.
    ByGit,
}

impl Refusal {
    /// Whether it is for a lock that git holds for a moment: it may be gone as soon as one asks again.
    #[must_use]
    pub const fn passes_soon(&self) -> bool {
        matches!(self, Self::BaseBusy(BusyWith::IndexLock | BusyWith::RefLock))
    }
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
            Self::BaseMissing => f.write_str("the base branch does not exist; make it, or name another with `--onto`"),
            Self::CheckedOutTwice => {
                f.write_str("the base branch is checked out in more than one working tree; switch to another branch in all but one of them")
            }
            Self::CheckoutMissing => f.write_str(
                "the working tree that has the base checked out is gone; run `git worktree prune`",
            ),
            Self::UnrelatedHistories => f.write_str("the card and the base branch have no commit in common; name the branch that the card came from with `--onto`"),
            Self::Protected { branch, pattern } => write!(
                f,
                "the branch {branch} is protected by the rule {pattern:?}; land by a pull request, which publishes the card's branch, \
                 or lift the rule with `cs-panel codebase set NAME --no-protect`"
            ),
            Self::RebaseDiffers => f.write_str(
                "the card's commits, one by one on the base, come to other files than its merge: a merge in the card's history \
                 resolves something; land it by a merge or squash it",
            ),
            Self::RebaseTooLong { max } => write!(
                f,
                "the card has more than {max} commits, too many to rebase; land it by a merge or squash it"
            ),
            Self::RebaseNeedsGit { needed } => write!(
                f,
                "a landing by rebase needs git {needed} or newer; install that, land it by a merge or squash it"
            ),
            Self::RebaseOfRoot { commit } => write!(
                f,
                "commit {} of the card begins a history of its own and cannot be rebased; land it by a merge or squash it",
                commit.short()
            ),
            Self::ByGit => f.write_str("git refused to fast-forward the checked-out base branch; look at `git status` in its working tree and put right what it shows"),
        }
    }
}
