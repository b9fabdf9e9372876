//! What a tree can hold that a snapshot cannot carry whole.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::busy::BusyWith;
use crate::path::RepoPath;

/// Something in a tree because of which its directory must be kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// A git repository inside the tree; its files and commits are not in the snapshot.
    NestedRepository(RepoPath),
    /// A populated submodule; its commits are not in the snapshot.
    Submodule(RepoPath),
    /// A changed file whose content goes through a filter such as LFS; the snapshot holds it unfiltered.
    Filtered(RepoPath),
    /// A merge, rebase or the like is under way in the tree; the snapshot holds the files, not the operation.
    UnderWay(BusyWith),
    /// The tree's index has conflicts.
    Unmerged,
    /// The tree's index cannot be read.
    IndexUnreadable,
    /// The tree's git directory or HEAD cannot be read; the files are compared with the card's last known commit.
    HeadUnreadable,
    /// A commit that the tree's history mentions could not be fetched.
    HistoryIncomplete,
    /// A file or directory that cannot be read.
    Unreadable(RepoPath),
    /// A pipe, socket or device.
    NotAFile(RepoPath),
    /// Another file system is mounted here.
    Mount(RepoPath),
    /// A file over the size limit, or beyond the limit of all files together.
    TooLarge(RepoPath),
    /// More changed files than the limit; none of them is in the snapshot.
    TooMany {
        /// How many.
        files: usize,
    },
    /// A file that git could not add, or that changed while it was saved.
    NotSaved(RepoPath),
    /// The tree changed while it was saved.
    ChangedMeanwhile,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NestedRepository(path) => write!(f, "{path} is a git repository of its own"),
            Self::Submodule(path) => write!(f, "{path} is a submodule with content"),
            Self::Filtered(path) => write!(f, "{path} goes through a content filter (LFS or the like)"),
            Self::UnderWay(what) => write!(f, "{} in the tree", what.text()),
            Self::Unmerged => write!(f, "the tree's index has conflicts"),
            Self::IndexUnreadable => write!(f, "the tree's index cannot be read"),
            Self::HeadUnreadable => write!(f, "the tree's git directory cannot be read"),
            Self::HistoryIncomplete => write!(f, "some commits of the tree cannot be read"),
            Self::Unreadable(path) => write!(f, "{path} cannot be read"),
            Self::NotAFile(path) => write!(f, "{path} is a pipe, a socket or a device"),
            Self::Mount(path) => write!(f, "another file system is mounted on {path}"),
            Self::TooLarge(path) => write!(f, "{path} is too large"),
            Self::TooMany { files } => write!(f, "{files} changed files are too many"),
            Self::NotSaved(path) => write!(f, "{path} could not be saved"),
            Self::ChangedMeanwhile => write!(f, "the tree changed while it was saved"),
        }
    }
}
