//! How a push ended, for people and for what decides on it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a push ended. Words of a remote are short, without control characters, and without a URL that could hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The remote has it now.
    Published,
    /// The remote had it already, by itself or below commits of somebody else.
    UpToDate,
    /// The remote wants a sign-in that is not there.
    Auth {
        /// What was said about it, for the person at this machine.
        words: String,
    },
    /// The remote did not answer in time. It may have taken the commits: publish again to know.
    Timeout {
        /// How long it had; `None` when the connection gave up by itself.
        limit: Option<Duration>,
    },
    /// A rule or a hook of the remote refused.
    Protected {
        /// What the remote said.
        words: String,
    },
    /// The remote's branch has commits that these do not contain.
    NonFastForward,
    /// The remote cannot make or move the branch: another branch is in its way, or a lock.
    RefConflict {
        /// What the remote said.
        words: String,
    },
    /// The repository has no remote, or several and none is named by the base or is called `origin`.
    NoRemote,
    /// There is nobody at the remote's address, or no repository.
    Unreachable {
        /// What was said about it, for the person at this machine.
        words: String,
    },
    /// The commits point to contents of git-lfs that the remote may not have, and that are not uploaded here. Nothing was pushed.
    Lfs {
        /// How many contents.
        contents: usize,
    },
    /// The commit is not in the store of this machine. Nothing was pushed.
    NotHere,
    /// Anything else.
    Other {
        /// What was said about it, for the person at this machine.
        words: String,
    },
}

impl Verdict {
    /// Whether the remote has the commits.
    #[must_use]
    pub const fn is_at_remote(&self) -> bool {
        match self {
            Self::Published | Self::UpToDate => true,
            Self::Auth { .. }
            | Self::Timeout { .. }
            | Self::Protected { .. }
            | Self::NonFastForward
            | Self::RefConflict { .. }
            | Self::NoRemote
            | Self::Unreachable { .. }
            | Self::Lfs { .. }
            | Self::NotHere
            | Self::Other { .. } => false,
        }
    }

    /// Whether trying again later may help without anybody doing anything.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Timeout { .. } | Self::Unreachable { .. } => true,
            Self::Published
            | Self::UpToDate
            | Self::Auth { .. }
            | Self::Protected { .. }
            | Self::NonFastForward
            | Self::RefConflict { .. }
            | Self::NoRemote
            | Self::Lfs { .. }
            | Self::NotHere
            | Self::Other { .. } => false,
        }
    }

    /// Says it with what to do, without local paths and without what this machine's git said: fit for the record (WT-4).
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::Published => "the remote has it".into(),
            Self::UpToDate => "the remote had it already".into(),
            Self::Auth { .. } => "the remote wants a sign-in; run `git push --dry-run` in the repository once, and let git keep the \
                                  password or load the key into the agent of ssh"
                .into(),
            Self::Timeout { limit: Some(limit) } => format!(
                "the remote did not answer within {} s and may have taken it; try again",
                limit.as_secs()
            ),
            Self::Timeout { limit: None } => "the remote did not answer in time; try again".into(),
            Self::Protected { words } => with(
                "the remote refused by a rule of its own; publish the card's branch and open a pull request there, or change the rule",
                words,
            ),
            Self::NonFastForward => "the remote's branch has commits that are not in this one; fetch them, bring your branch up to \
                                     date, and try again"
                .into(),
            Self::RefConflict { words } => with(
                "the remote cannot make or move the branch: another branch is in its way, or the lock of another push; see there which it is, \
                 and try again once it is gone",
                words,
            ),
            Self::NoRemote => "no remote can be told; add one with `git remote add origin URL`, or let the base follow one with \
                               `git branch --set-upstream-to`"
                .into(),
            Self::Unreachable { .. } => "the remote cannot be reached; look at the network and at `git remote -v`, and try again".into(),
            Self::Lfs { contents } => format!(
                "the commits point to {contents} contents of git-lfs, which are not uploaded here; land on the local branch only and \
                 push with your own git"
            ),
            Self::NotHere => "the commits are not on this machine".into(),
            Self::Other { .. } => "the push failed; try `git push --dry-run` in the repository to see why".into(),
        }
    }
}

fn with(text: &str, words: &str) -> String {
    if words.is_empty() {
        return text.to_owned();
    }
    format!("{text}. It said:\n{words}")
}

impl fmt::Display for Verdict {
    /// Says it to the person at this machine, with what git said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auth { words } | Self::Unreachable { words } | Self::Other { words } => {
                f.write_str(&with(&self.public(), words))
            }
            Self::Published
            | Self::UpToDate
            | Self::Timeout { .. }
            | Self::Protected { .. }
            | Self::NonFastForward
            | Self::RefConflict { .. }
            | Self::NoRemote
            | Self::Lfs { .. }
            | Self::NotHere => f.write_str(&self.public()),
        }
    }
}
