//! What a remote has, read from it.

use std::fs;
use std::time::Duration;

use bstr::ByteSlice;

use super::{At, Pushed, Verdict};
use crate::error::{GitError, WorktreeError};
use crate::keys::Oid;
use crate::objects::quoted;
use crate::runner::Call;

/// How long a remote may take that was given up once.
const SECOND_LOOK_LIMIT: Duration = Duration::from_secs(15);

impl At<'_> {
    /// What a push came to, once more, where the remote did not take it: it may have the commit all the same, by a push before this one
    /// or by one that has gone on after its time, and somebody may have pushed on top of it.
    pub(super) async fn corrected(&self, pushed: Pushed) -> Result<Pushed, WorktreeError> {
        let limit = match &pushed.verdict {
            Verdict::Timeout { .. } => self.publish.limit.min(SECOND_LOOK_LIMIT),
            Verdict::NonFastForward
            | Verdict::RefConflict { .. }
            | Verdict::Protected { .. }
            | Verdict::Other { .. } => self.publish.limit,
            Verdict::Published
            | Verdict::UpToDate
            | Verdict::Auth { .. }
            | Verdict::NoRemote
            | Verdict::Unreachable { .. }
            | Verdict::Lfs { .. }
            | Verdict::NotHere => return Ok(pushed),
        };
        match self.is_there(limit).await {
            Ok(true) => Ok(Verdict::UpToDate.into()),
            Ok(false) => Ok(pushed),
            Err(error @ WorktreeError::Git(GitError::Start { .. })) => Err(error),
            // What the push said is the better answer.
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "the remote cannot be read"
                );
                Ok(pushed)
            }
        }
    }

    /// Whether the remote's branch is the commit, or holds it.
    async fn is_there(&self, limit: Duration) -> Result<bool, WorktreeError> {
        let name = self.to.branch.full_ref();
        let ask = self.call("ls-remote").await?.limit(limit);
        let ask = ask
            .args(["ls-remote", "--end-of-options"])
            .args(self.urls.first());
        let listed = self.store.git.ok(ask.arg(&name)).await?;
        let tip = listed.lines().find_map(|line| {
            let (oid, listed) = line.to_str().ok()?.split_once('\t')?;
            (listed == name).then(|| Oid::new(oid).ok())?
        });
        let Some(tip) = tip else {
            return Ok(false);
        };
        if tip == self.publish.commit {
            return Ok(true);
        }
        let call = |op| {
            self.repository
                .call(op)
                .borrow_objects(&self.store.dir.join("objects"))
        };
        match self.holds(call, &tip).await? {
            Some(holds) => Ok(holds),
            None => self.holds_when_fetched(&tip, limit).await,
        }
    }

    /// Whether a commit holds the one that is published; nothing where it is not here.
    async fn holds(
        &self,
        call: impl Fn(&'static str) -> Call,
        tip: &Oid,
    ) -> Result<Option<bool>, WorktreeError> {
        let ask = call("merge-base").args(["merge-base", "--is-ancestor"]);
        let ask = ask.args([self.publish.commit.as_str(), tip.as_str()]);
        Ok(match self.store.git.run(ask).await?.code {
            0 => Some(true),
            1 => Some(false),
            _ => None,
        })
    }

    /// The same for a commit of somebody else's, which is fetched to a place of its own: nothing of the user's gets it.
    async fn holds_when_fetched(&self, tip: &Oid, limit: Duration) -> Result<bool, WorktreeError> {
        let apart = self.store.temp_dir()?;
        let info = apart.path().join("info");
        fs::create_dir(&info).map_err(WorktreeError::io("make", &info))?;
        let mut lines = quoted(&self.repository.common_dir.join("objects"));
        lines.push("\n");
        lines.push(quoted(&self.store.dir.join("objects")));
        lines.push("\n");
        let alternates = info.join("alternates");
        fs::write(&alternates, lines.as_encoded_bytes()).map_err(WorktreeError::io("write", &alternates))?;
        let fetch = self.call("fetch").await?.limit(limit).objects(apart.path());
        let fetch = fetch.args(FETCH).args(self.urls.first());
        self.store.git.ok(fetch.arg(self.to.branch.full_ref())).await?;
        let call = |op| self.repository.call(op).objects(apart.path());
        Ok(self.holds(call, tip).await?.unwrap_or(false))
    }
}

/// Objects come, and nothing else.
const FETCH: [&str; 9] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--no-prune",
    "--refmap=",
    "--end-of-options",
];
