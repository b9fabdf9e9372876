//! Where a card begins: the user's branch, or the remote's of that name where it has more; and which branch a remote calls its
//! default at this moment.

use std::time::Duration;

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::error::{GitError, WorktreeError};
use crate::keys::{BranchName, Oid};
use crate::repository::Repository;
use crate::runner::Git;

/// The remote's branch that belongs to a local one, as the user last fetched it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    /// Its name for people, such as `origin/main`.
    pub name: String,
    /// Its commit.
    pub tip: Oid,
    /// How many commits only the local branch has: they are not pushed.
    pub ahead: usize,
    /// How many commits only the remote's branch has: they are not pulled.
    pub behind: usize,
}

/// How a local branch stands to the remote's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// There is no remote's branch, or both are at one commit.
    Same,
    /// The local branch has commits that are not pushed.
    Unpushed,
    /// The remote's branch has commits that are not pulled: a card begins there, which is worth saying.
    Behind,
    /// Each has commits that the other has not: only the person knows which counts.
    Diverged,
}

/// Which of the two counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseFrom {
    /// The one that contains the other; the local branch when they have diverged.
    Newest,
    /// The local branch, as the person said.
    Local,
    /// The remote's branch, as the person said.
    Remote,
}

/// Where a card's base stood when its tree was made ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseSeen {
    /// How the user's branch stood to the remote's.
    pub standing: Standing,
    /// The remote's branch.
    pub upstream: Option<Upstream>,
    /// How many commits the base has that the card has not.
    pub behind: usize,
}

impl Standing {
    /// Judges by the numbers of commits that only one side has.
    #[must_use]
    pub const fn of(upstream: Option<&Upstream>) -> Self {
        match upstream {
            None => Self::Same,
            Some(upstream) => match (upstream.ahead, upstream.behind) {
                (0, 0) => Self::Same,
                (_, 0) => Self::Unpushed,
                (0, _) => Self::Behind,
                (_, _) => Self::Diverged,
            },
        }
    }

    /// Whether a card begins at the remote's branch.
    #[must_use]
    pub const fn begins_at_remote(self, from: BaseFrom) -> bool {
        match from {
            BaseFrom::Local => false,
            BaseFrom::Remote => true,
            BaseFrom::Newest => match self {
                Self::Behind => true,
                Self::Same | Self::Unpushed | Self::Diverged => false,
            },
        }
    }
}

/// What a remote calls its default branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefaultBranch {
    /// It said so now.
    Live(BranchName),
    /// It did not say; this is what it said when the user cloned it or asked last.
    Remembered(BranchName, RemoteTrouble),
    /// It did not say, and nothing is remembered.
    Unknown(RemoteTrouble),
}

/// Why a remote did not answer. Its text is for the person at this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteTrouble {
    /// There is no such remote.
    #[error("the repository has no remote {remote}; add one with `git remote add`")]
    NoRemote {
        /// The remote that was asked for.
        remote: String,
    },
    /// It did not answer in time.
    #[error("the remote {remote} did not answer within {} s; look at the network, or try `git fetch {remote}` yourself", limit.as_secs())]
    NoAnswer {
        /// The remote.
        remote: String,
        /// How long it had.
        limit: Duration,
    },
    /// It refused, or wanted a password: nobody can type one here.
    #[error(
        "the remote {remote} cannot be asked without you: {detail}; run `git fetch {remote}` in the repository once, and let git keep the password"
    )]
    Refused {
        /// The remote.
        remote: String,
        /// What git said.
        detail: String,
    },
    /// It answered without a default branch: it is empty, or its HEAD names nothing.
    #[error("the remote {remote} has no default branch")]
    NoDefault {
        /// The remote.
        remote: String,
    },
}

impl Repository {
    /// Compares a local branch with the remote's that belongs to it: its configured upstream, else `origin`'s of the same name.
    /// Asks no remote. `None` when there is none.
    ///
    /// # Errors
    /// Git failed.
    pub async fn upstream(&self, git: &Git, branch: &BranchName) -> Result<Option<Upstream>, WorktreeError> {
        let Some((local, tip, full)) = self.both_sides(git, branch).await? else {
            return Ok(None);
        };
        let count = self
            .call("rev-list")
            .args(["rev-list", "--left-right", "--count"]);
        let out = git.ok(count.arg(format!("{local}...{tip}")).arg("--")).await?;
        let unreadable = || GitError::Unreadable {
            op: "rev-list",
            what: "two numbers were expected",
        };
        let text = out.to_str_lossy();
        let numbers: Vec<usize> = text
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [ahead, behind] = numbers[..] else {
            return Err(unreadable().into());
        };
        Ok(Some(Upstream {
            name: full.trim_start_matches("refs/remotes/").to_owned(),
            tip,
            ahead,
            behind,
        }))
    }

    /// The commits of a local branch and of the remote's, and the full name of that.
    async fn both_sides(
        &self,
        git: &Git,
        branch: &BranchName,
    ) -> Result<Option<(Oid, Oid, String)>, WorktreeError> {
        let (own, of_origin) = (branch.full_ref(), format!("refs/remotes/origin/{branch}"));
        let format = "--format=%(objectname) %(refname) %(upstream)";
        let list = self.call("for-each-ref").args(["for-each-ref", format]);
        let out = git.ok(list.args([&own, &of_origin])).await?;
        let (mut local, mut tip, mut full) = (None, None, of_origin.clone());
        for line in out.lines() {
            let words: Vec<&str> = line.to_str().unwrap_or_default().split(' ').collect();
            let [oid, name, upstream] = words[..] else {
                continue;
            };
            if name == own {
                local = Oid::new(oid).ok();
                if upstream.starts_with("refs/remotes/") {
                    upstream.clone_into(&mut full);
                }
            } else if name == of_origin {
                tip = Oid::new(oid).ok();
            }
        }
        if full != of_origin {
            tip = self.commit_of(git, &full).await?;
        }
        Ok(local.zip(tip).map(|(local, tip)| (local, tip, full)))
    }

    /// Asks a remote for its default branch, for at most `limit`. It is reached as the user's own git would reach it, by their
    /// configuration and [`Transport`](crate::Transport), but nobody is asked for a password.
    ///
    /// # Errors
    /// Git could not be run. A remote that does not answer is no error: it is in the result.
    pub async fn default_branch(
        &self,
        git: &Git,
        remote: &str,
        limit: Duration,
    ) -> Result<DefaultBranch, WorktreeError> {
        let trouble = match self.ask_remote(git, remote, limit).await? {
            Ok(branch) => return Ok(DefaultBranch::Live(branch)),
            Err(trouble) => trouble,
        };
        Ok(match self.remembered_default(git, remote).await? {
            Some(branch) => DefaultBranch::Remembered(branch, trouble),
            None => DefaultBranch::Unknown(trouble),
        })
    }

    async fn ask_remote(
        &self,
        git: &Git,
        remote: &str,
        limit: Duration,
    ) -> Result<Result<BranchName, RemoteTrouble>, WorktreeError> {
        let remote = remote.to_owned();
        let remotes = git.ok(self.call("remote").arg("remote")).await?;
        if !remotes.lines().any(|line| line == remote.as_bytes()) {
            return Ok(Err(RemoteTrouble::NoRemote { remote }));
        }
        let reach = self.reach(git).await?;
        let ask = self.call("ls-remote").limit(limit).cwd(&self.toplevel);
        let ask = ask.reaching(reach);
        let ask = ask.args(["ls-remote", "--quiet", "--symref", "--end-of-options"]);
        let answer = match git.run(ask.args([remote.as_str(), "HEAD"])).await {
            Ok(answer) => answer,
            Err(GitError::TimedOut { .. }) => return Ok(Err(RemoteTrouble::NoAnswer { remote, limit })),
            Err(error) => return Err(error.into()),
        };
        if answer.code != 0 {
            let detail = answer
                .stderr
                .trim_ascii()
                .rsplit_str("\n")
                .next()
                .unwrap_or_default();
            let detail = detail.to_str_lossy().trim().to_owned();
            return Ok(Err(RemoteTrouble::Refused { remote, detail }));
        }
        let named = answer.stdout.lines().find_map(|line| {
            let name = line.strip_prefix(b"ref: refs/heads/")?;
            name.to_str_lossy().split('\t').next().map(str::to_owned)
        });
        let branch = named.and_then(|name| BranchName::new(name).ok());
        Ok(branch.ok_or(RemoteTrouble::NoDefault { remote }))
    }

    /// The default branch of a remote as the user's repository remembers it.
    pub(crate) async fn remembered_default(
        &self,
        git: &Git,
        remote: &str,
    ) -> Result<Option<BranchName>, WorktreeError> {
        let below = format!("refs/remotes/{remote}/");
        let ask = self.call("symbolic-ref").args(["symbolic-ref", "--quiet"]);
        let answer = git.run(ask.arg(format!("{below}HEAD"))).await?;
        let text = answer.stdout.trim_ascii().to_str_lossy().into_owned();
        let name = text.strip_prefix(&below).map(str::to_owned);
        Ok(name.and_then(|name| BranchName::new(name).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_where_a_card_begins() {
        let upstream = |ahead, behind| Upstream {
            name: "origin/main".into(),
            tip: Oid::new("0".repeat(40)).unwrap(),
            ahead,
            behind,
        };
        let cases = [
            (None, Standing::Same, false),
            (Some(upstream(0, 0)), Standing::Same, false),
            (Some(upstream(2, 0)), Standing::Unpushed, false),
            (Some(upstream(0, 3)), Standing::Behind, true),
            (Some(upstream(2, 3)), Standing::Diverged, false),
        ];
        for (upstream, standing, at_remote) in cases {
            assert_eq!(Standing::of(upstream.as_ref()), standing);
            assert_eq!(
                standing.begins_at_remote(BaseFrom::Newest),
                at_remote,
                "{standing:?}"
            );
            assert!(!standing.begins_at_remote(BaseFrom::Local));
            assert!(standing.begins_at_remote(BaseFrom::Remote));
        }
    }
}
