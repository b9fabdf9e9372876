//! What can go wrong: one enum for a call of git, one for the operations of this crate.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_supervise::command::CommandError;

use crate::keys::BranchName;

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Somebody else changed the thing: look again and decide anew.
    Conflict,
    /// The thing does not exist.
    NotFound,
    /// The input is not usable as it is; repeating does not help.
    Invalid,
    /// Repeating later may help.
    Transient,
    /// Our own state is not what it must be.
    Corrupt,
}

/// A call of the git program that did not do what it was called for.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no executable `git` in the given PATH.
    #[error("git was not found; install git {needed} or newer")]
    NotInstalled {
        /// The oldest version that works.
        needed: &'static str,
    },
    /// The git program is too old.
    #[error("git {found} is too old; install git {needed} or newer")]
    TooOld {
        /// The version found.
        found: String,
        /// The oldest version that works.
        needed: &'static str,
    },
    /// Git ended with an exit code that this call does not expect.
    #[error("git {op} failed ({ending}): {stderr}")]
    Failed {
        /// The git command.
        op: &'static str,
        /// The exit code or the signal.
        ending: String,
        /// The end of what git wrote to standard error. May hold local paths.
        stderr: String,
    },
    /// Another git process holds a lock file, and still did after our retries.
    #[error("git {op} gave up: another git process holds a lock in the repository: {stderr}")]
    Locked {
        /// The git command.
        op: &'static str,
        /// What git wrote to standard error. May hold local paths.
        stderr: String,
    },
    /// Git ran longer than allowed and was ended.
    #[error("git {op} did not end within {} s", limit.as_secs())]
    TimedOut {
        /// The git command.
        op: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// Git wrote more than allowed and was ended.
    #[error("git {op} wrote more than {limit_bytes} bytes")]
    OverCap {
        /// The git command.
        op: &'static str,
        /// The limit of standard output.
        limit_bytes: usize,
    },
    /// The child could not be started or watched.
    #[error("git {op} could not be run")]
    Start {
        /// The git command.
        op: &'static str,
        /// The cause.
        #[source]
        source: CommandError,
    },
    /// Git wrote something that this crate does not understand.
    #[error("git {op} wrote something unexpected: {what}")]
    Unreadable {
        /// The git command.
        op: &'static str,
        /// What was expected.
        what: &'static str,
    },
}

impl GitError {
    /// The error without local paths and without raw text of git.
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::NotInstalled { .. }
            | Self::TooOld { .. }
            | Self::TimedOut { .. }
            | Self::OverCap { .. }
            | Self::Start { .. }
            | Self::Unreadable { .. } => self.to_string(),
            Self::Failed { op, ending, .. } => format!("git {op} failed ({ending})"),
            Self::Locked { op, .. } => {
                format!("git {op} gave up: another git process holds a lock in the repository")
            }
        }
    }

    /// What a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotInstalled { .. } | Self::TooOld { .. } => ErrorClass::Invalid,
            Self::Locked { .. } | Self::TimedOut { .. } | Self::Start { .. } => ErrorClass::Transient,
            Self::Failed { .. } | Self::OverCap { .. } | Self::Unreadable { .. } => ErrorClass::Corrupt,
        }
    }
}

/// An operation on a store, a tree or a user's repository that could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// A call of git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The path is not inside a git repository.
    #[error("{} is not inside a git repository; run `git init` there or name another path", path.display())]
    NotARepository {
        /// The path asked about.
        path: PathBuf,
    },
    /// The repository has no working tree.
    #[error("{} is a bare repository; name a checkout of it", path.display())]
    Bare {
        /// The path asked about.
        path: PathBuf,
    },
    /// The repository has no commit yet.
    #[error("the repository {} has no commit yet; make a first commit, then try again", path.display())]
    Empty {
        /// The root of the working tree.
        path: PathBuf,
    },
    /// Git does not trust the repository because another user owns it.
    #[error("the repository {} belongs to another user; run `git config --global --add safe.directory` for it", path.display())]
    ForeignOwner {
        /// The path asked about.
        path: PathBuf,
    },
    /// The repository is a partial clone, and lacks something that a tree needs. Nothing is downloaded for it unasked.
    #[error("the repository {} is a partial clone and lacks objects that a tree of its own needs; run `git fetch --refetch --no-filter {remote}` there, then try again", path.display())]
    PartialClone {
        /// The root of the working tree.
        path: PathBuf,
        /// The remote that has them.
        remote: String,
    },
    /// No branch can be taken for the base.
    #[error("no branch is checked out and none of {tried} exists; check out the branch to work from")]
    NoBase {
        /// The branches that were looked for.
        tried: String,
    },
    /// The base branch is not in the user's repository.
    #[error("the branch {branch} does not exist in the repository")]
    BaseMissing {
        /// The branch.
        branch: BranchName,
    },
    /// The card's branch cannot exist beside another branch.
    #[error(
        "the card's branch {branch} cannot be made beside the existing branch {existing}; rename that one"
    )]
    BranchCollision {
        /// The card's branch.
        branch: BranchName,
        /// The branch in its way.
        existing: String,
    },
    /// The card's branch is checked out somewhere already.
    #[error("the branch {branch} is checked out in {} already; use that one, or end it with `git worktree remove`", path.display())]
    BranchInUse {
        /// The branch.
        branch: BranchName,
        /// Where it is checked out.
        path: PathBuf,
    },
    /// The card has no tree and no commits in this store.
    #[error("the card has no commits in this machine's store")]
    NoCard,
    /// A directory stands where the card's tree belongs, and it is not that tree.
    #[error("the directory {} is not the tree of this card; move it away", path.display())]
    NotOurTree {
        /// The directory.
        path: PathBuf,
    },
    /// No snapshot has this name.
    #[error("nothing is saved as {reference}; list what is")]
    NotSaved {
        /// The ref that was asked for.
        reference: String,
    },
    /// There is something where a new directory was to be made.
    #[error("{} exists already; name a directory that does not", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// The tree changed after it was salvaged.
    #[error("the tree changed after its salvage; salvage it again")]
    TreeChanged,
    /// A process has its working directory in the tree.
    #[error(
        "process {pid} ({program}) works in the tree; end it, or let it go elsewhere, such as a shell with `cd`"
    )]
    TreeInUse {
        /// Its number.
        pid: i32,
        /// The short name of its program.
        program: String,
    },
    /// Another process has worked on the codebase for longer than we wait.
    #[error("another process is working on this codebase; try again later")]
    CodebaseBusy,
    /// The disk refused.
    #[error("cannot {op} {}", path.display())]
    Io {
        /// What was tried, as a verb.
        op: &'static str,
        /// On which path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// There is no room where our state is.
    #[error("the disk that holds {} is full; free some space there, nothing of the work is lost", path.display())]
    DiskFull {
        /// Our state directory.
        path: PathBuf,
        /// What could not be done.
        #[source]
        source: Box<WorktreeError>,
    },
    /// Our own files or refs are not what they must be.
    #[error("the store of this codebase is damaged: {what}")]
    Corrupt {
        /// What is wrong.
        what: String,
    },
}

impl WorktreeError {
    /// The error as it may reach the record: without local paths, without raw text of git or of the system (WT-4).
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::Git(error) => error.public(),
            Self::NotARepository { .. } => "the codebase's path is not inside a git repository".into(),
            Self::Bare { .. } => "the codebase's repository is bare; name a checkout of it".into(),
            Self::Empty { .. } => {
                "the repository has no commit yet; make a first commit, then try again".into()
            }
            Self::ForeignOwner { .. } => "the repository belongs to another user".into(),
            Self::PartialClone { remote, .. } => format!(
                "the repository is a partial clone and lacks objects; run `git fetch --refetch --no-filter {remote}` there, then try again"
            ),
            Self::NotOurTree { .. } => "another directory stands where the card's tree belongs".into(),
            Self::DiskFull { .. } => {
                "the disk of the machine is full; free some space there, nothing of the work is lost".into()
            }
            Self::BranchInUse { branch, .. } => {
                format!("the branch {branch} is checked out somewhere already")
            }
            Self::Occupied { .. } => "the directory to restore into exists already".into(),
            Self::Io { op, source, .. } => {
                format!("cannot {op} a file of the working copy ({})", source.kind())
            }
            Self::NoBase { .. }
            | Self::BaseMissing { .. }
            | Self::BranchCollision { .. }
            | Self::NoCard
            | Self::NotSaved { .. }
            | Self::TreeChanged
            | Self::TreeInUse { .. }
            | Self::CodebaseBusy => self.to_string(),
            Self::Corrupt { .. } => "the store of this codebase is damaged".into(),
        }
    }

    /// What a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Git(error) => error.class(),
            Self::NotARepository { .. } | Self::BaseMissing { .. } | Self::NoCard | Self::NotSaved { .. } => {
                ErrorClass::NotFound
            }
            Self::Bare { .. }
            | Self::Empty { .. }
            | Self::ForeignOwner { .. }
            | Self::PartialClone { .. }
            | Self::NoBase { .. } => ErrorClass::Invalid,
            Self::BranchCollision { .. }
            | Self::NotOurTree { .. }
            | Self::Occupied { .. }
            | Self::BranchInUse { .. }
            | Self::TreeChanged
            | Self::TreeInUse { .. } => ErrorClass::Conflict,
            Self::CodebaseBusy | Self::Io { .. } | Self::DiskFull { .. } => ErrorClass::Transient,
            Self::Corrupt { .. } => ErrorClass::Corrupt,
        }
    }

    pub(crate) fn io(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { op, path, source }
    }
}
