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
        let listed = git.ok(self.call("remote").arg("remote")).await?;
        let remotes: Vec<String> = listed
            .lines()
            .map(|name| name.to_str_lossy().into_owned())
            .collect();
        if remotes.is_empty() {
            return Ok(None);
        }
        let followed = self.setting(git, &format!("branch.{branch}.remote")).await?;
        if let Some(remote) = followed.filter(|name| remotes.contains(name)) {
            let there = self.setting(git, &format!("branch.{branch}.merge")).await?;
            let there = there.and_then(|name| BranchName::new(name.strip_prefix("refs/heads/")?).ok());
            return Ok(Some(RemoteBranch {
                remote,
                branch: there.unwrap_or_else(|| branch.clone()),
            }));
        }
        let remote = match remotes.as_slice() {
            [only] => Some(only.clone()),
            several => several.iter().find(|name| *name == "origin").cloned(),
        };
        Ok(remote.map(|remote| RemoteBranch {
            remote,
            branch: branch.clone(),
        }))
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
