//! Which remote of the person belongs to a base.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::error::WorktreeError;
use crate::keys::BranchName;
use crate::parse;
use crate::repository::Repository;
use crate::runner::Git;

/// A branch of a remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteBranch {
    /// The name of the remote in the user's repository.
    pub remote: String,
    /// The branch there.
    pub branch: BranchName,
}

impl std::fmt::Display for RemoteBranch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.remote, self.branch)
    }
}

impl Repository {
    /// Where a local branch would be published: at the branch that it follows, else under its own name at the only remote, else at
    /// `origin`. Asks no remote. `None`: none can be told.
    ///
    /// # Errors
    /// Git failed.
    pub async fn remote_of(
        &self,
        git: &Git,
        branch: &BranchName,
    ) -> Result<Option<RemoteBranch>, WorktreeError> {
        let remotes = self.remotes(git).await?;
        if let Some((remote, there)) = self.upstream_of(git, branch, &remotes).await? {
            return Ok(Some(RemoteBranch {
                remote,
                branch: there.unwrap_or_else(|| branch.clone()),
            }));
        }
        Ok(usual(&remotes).map(|remote| RemoteBranch {
            remote,
            branch: branch.clone(),
        }))
    }

    /// Where the person publishes a local branch already: where it follows a branch of its own name, or one of another name that
    /// `push.default` lets them push to; else where a remote had it when it was last fetched or pushed. `branch.*.pushRemote` and
    /// `remote.pushDefault` come before what it follows. Asks no remote. `None`: it is private, as far as can be told.
    ///
    /// # Errors
    /// Git failed.
    pub async fn followed(
        &self,
        git: &Git,
        branch: &BranchName,
    ) -> Result<Option<RemoteBranch>, WorktreeError> {
        let remotes = self.remotes(git).await?;
        let mut push_to = self.setting(git, &format!("branch.{branch}.pushRemote")).await?;
        if push_to.is_none() {
            push_to = self.setting(git, "remote.pushDefault").await?;
        }
        // People name one that does not exist to keep a branch from being pushed.
        if push_to.as_ref().is_some_and(|name| !remotes.contains(name)) {
            return Ok(None);
        }
        let upstream = self.upstream_of(git, branch, &remotes).await?;
        if let Some((remote, Some(there))) = &upstream
            && push_to.as_ref().is_none_or(|name| name == remote)
            && (there == branch || self.pushes_to_upstream(git).await?)
        {
            return Ok(Some(RemoteBranch {
                remote: remote.clone(),
                branch: there.clone(),
            }));
        }
        let upstream = upstream.map(|(remote, _)| remote);
        let Some(remote) = push_to.or(upstream).or_else(|| usual(&remotes)) else {
            return Ok(None);
        };
        let there = format!("refs/remotes/{remote}/{branch}");
        let is_there = self.commit_of(git, &there).await?.is_some();
        Ok(is_there.then(|| RemoteBranch {
            remote,
            branch: branch.clone(),
        }))
    }

    async fn remotes(&self, git: &Git) -> Result<Vec<String>, WorktreeError> {
        let listed = git.ok(self.call("remote").arg("remote")).await?;
        let names = listed.lines().map(|name| name.to_str_lossy().into_owned());
        Ok(names.collect())
    }

    /// The remote that a branch follows, if it is one of these, and the branch there.
    async fn upstream_of(
        &self,
        git: &Git,
        branch: &BranchName,
        remotes: &[String],
    ) -> Result<Option<(String, Option<BranchName>)>, WorktreeError> {
        let remote = self.setting(git, &format!("branch.{branch}.remote")).await?;
        let Some(remote) = remote.filter(|name| remotes.contains(name)) else {
            return Ok(None);
        };
        let there = self.setting(git, &format!("branch.{branch}.merge")).await?;
        let there = there.and_then(|name| BranchName::new(name.strip_prefix("refs/heads/")?).ok());
        Ok(Some((remote, there)))
    }

    /// A branch that was made from one of a remote follows that, and is not meant to become it.
    async fn pushes_to_upstream(&self, git: &Git) -> Result<bool, WorktreeError> {
        let how = self.setting(git, "push.default").await?;
        Ok(how.is_some_and(|how| how == "upstream" || how == "tracking"))
    }

    async fn setting(&self, git: &Git, name: &str) -> Result<Option<String>, WorktreeError> {
        let ask = self
            .call("config")
            .reads_only()
            .args(["config", "-z", "--get", name]);
        let answer = git.run(ask).await?;
        let value = parse::z_fields(&answer.stdout).next();
        Ok(value.map(|value| value.to_str_lossy().into_owned()))
    }

    /// The address that a remote is pushed to, first, and every other form of it: what must be in no text.
    pub(crate) async fn push_urls(&self, git: &Git, remote: &str) -> Result<Vec<OsString>, WorktreeError> {
        let mut urls: Vec<OsString> = Vec::new();
        for which in ["--push", "--all"] {
            let ask = self.call("remote").reads_only();
            let ask = ask.args(["remote", "get-url", which, "--", remote]);
            let answer = git.run(ask).await?;
            let lines = answer.stdout.lines().filter(|line| !line.is_empty());
            urls.extend(lines.map(|line| OsStr::from_bytes(line).to_owned()));
        }
        // One that is a directory calls itself by the whole path.
        let real = |url: &OsString| {
            let path = url.as_bytes().strip_prefix(b"file://").unwrap_or(url.as_bytes());
            self.toplevel.join(OsStr::from_bytes(path)).canonicalize().ok()
        };
        let directories: Vec<PathBuf> = urls.iter().filter_map(real).collect();
        urls.extend(directories.into_iter().map(PathBuf::into_os_string));
        Ok(urls)
    }
}

/// The remote of a branch that names none.
fn usual(remotes: &[String]) -> Option<String> {
    match remotes {
        [only] => Some(only.clone()),
        several => several.iter().find(|name| *name == "origin").cloned(),
    }
}
