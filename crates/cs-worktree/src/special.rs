//! What a tree can hold that a snapshot cannot carry whole.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::busy::BusyWith;
use crate::path::RepoPath;

/// Something in a tree because of which its directory must be kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// A git repository inside the tree. In a salvage: one that could not be saved whole, or that the tree ignores.
    NestedRepository(RepoPath),
    /// A populated submodule. In a salvage: one that could not be saved whole.
    Submodule(RepoPath),
    /// A changed file whose content goes through a filter; the snapshot holds it unfiltered.
    Filtered(RepoPath),
    /// A merge, rebase or the like is under way in the tree; the snapshot holds the files, not the operation.
    UnderWay(BusyWith),
    /// The tree's index has conflicts.
    Unmerged,
    /// The tree's index cannot be read.
    IndexUnreadable,
    /// The tree's git directory or HEAD cannot be read; the files are compared with the card's last known commit.
    HeadUnreadable,
    /// The tree was made a partial clone: it lacks objects and says where they are to be had. It is not fetched from.
    PartialClone,
    /// A commit that the tree's history mentions could not be fetched.
    HistoryIncomplete,
    /// The reflogs mention more lost commits than are taken, or are too long to be read.
    ReflogsCut,
    /// Git has more to say of the tree than is read; what it was asked for.
    TooMuchToRead(String),
    /// A file or directory that cannot be read.
    Unreadable(RepoPath),
    /// A pipe, socket or device.
    NotAFile(RepoPath),
    /// A file of rules, `.gitignore` or `.gitattributes`, that is no regular file or larger than 1 MiB: the rules of the commit were
    /// taken in the place of all such files.
    RulesNotRead(RepoPath),
    /// Another file system is mounted here.
    Mount(RepoPath),
    /// Something that is not ours beside the tree, in the directory that goes with it: `git worktree add ../x` makes one.
    Beside(RepoPath),
    /// A file over the size limit, or beyond the limit of all files together.
    TooLarge(RepoPath),
    /// More changed files than the limit; none of them is in the snapshot.
    TooMany {
        /// How many, at least.
        files: usize,
    },
    /// A file that git could not add, or that changed while it was saved.
    NotSaved(RepoPath),
    /// The tree changed while it was saved.
    ChangedMeanwhile,
}

impl Special {
    /// The path of the file or directory that it names.
    #[must_use]
    pub fn path(&self) -> Option<&RepoPath> {
        match self {
            Self::NestedRepository(path)
            | Self::Submodule(path)
            | Self::Filtered(path)
            | Self::Unreadable(path)
            | Self::NotAFile(path)
            | Self::RulesNotRead(path)
            | Self::Mount(path)
            | Self::Beside(path)
            | Self::TooLarge(path)
            | Self::NotSaved(path) => Some(path),
            Self::UnderWay(_)
            | Self::Unmerged
            | Self::IndexUnreadable
            | Self::HeadUnreadable
            | Self::PartialClone
            | Self::HistoryIncomplete
            | Self::ReflogsCut
            | Self::TooMuchToRead(_)
            | Self::TooMany { .. }
            | Self::ChangedMeanwhile => None,
        }
    }

    /// What was found in a repository inside a tree, as something of the tree. What has no path of its own is the repository's.
    pub(crate) fn inside(self, dir: &RepoPath) -> Self {
        match self {
            Self::NestedRepository(path) => Self::NestedRepository(path.inside(dir)),
            Self::Submodule(path) => Self::Submodule(path.inside(dir)),
            Self::Filtered(path) => Self::Filtered(path.inside(dir)),
            Self::Unreadable(path) => Self::Unreadable(path.inside(dir)),
            Self::NotAFile(path) => Self::NotAFile(path.inside(dir)),
            Self::RulesNotRead(path) => Self::RulesNotRead(path.inside(dir)),
            Self::Mount(path) => Self::Mount(path.inside(dir)),
            beside @ Self::Beside(_) => beside,
            Self::TooLarge(path) => Self::TooLarge(path.inside(dir)),
            Self::NotSaved(path) => Self::NotSaved(path.inside(dir)),
            Self::UnderWay(_)
            | Self::Unmerged
            | Self::IndexUnreadable
            | Self::HeadUnreadable
            | Self::PartialClone
            | Self::HistoryIncomplete
            | Self::ReflogsCut
            | Self::TooMuchToRead(_)
            | Self::TooMany { .. } => Self::NestedRepository(dir.clone()),
            Self::ChangedMeanwhile => Self::ChangedMeanwhile,
        }
    }
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
            Self::PartialClone => write!(
                f,
                "the tree was made a partial clone: what it lacks is not downloaded, and its commits are only in the tree"
            ),
            Self::HistoryIncomplete => write!(f, "some commits of the tree cannot be read"),
            Self::ReflogsCut => write!(
                f,
                "the reflogs of the tree know more lost commits than are saved; the others are only in the tree"
            ),
            Self::TooMuchToRead(op) => write!(f, "there is too much in the tree for `git {op}` to be read"),
            Self::Unreadable(path) => write!(f, "{path} cannot be read"),
            Self::NotAFile(path) => write!(f, "{path} is a pipe, a socket or a device"),
            Self::RulesNotRead(path) => write!(
                f,
                "{path} is too large, or no file, to take rules from: those that are committed were taken"
            ),
            Self::Mount(path) => write!(f, "another file system is mounted on {path}"),
            Self::Beside(path) => write!(
                f,
                "{path} lies beside the tree, in the directory that would go with it"
            ),
            Self::TooLarge(path) => write!(f, "{path} is too large"),
            Self::TooMany { files } => write!(f, "{files} changed files are too many"),
            Self::NotSaved(path) => write!(f, "{path} could not be saved"),
            Self::ChangedMeanwhile => write!(f, "the tree changed while it was saved"),
        }
    }
}
