//! Publishing: commits of the store become a branch of one of the person's remotes.
//!
//! A tree never reaches a remote: its commits come to the store, and from there they are pushed, fast-forward only, without any
//! flag that forces. The remote is reached as the person's own git would reach it: by the configuration of their repository, which
//! borrows the objects of the store for that call, and by [`Transport`](crate::Transport). Nothing is written into their repository
//! but the branch by which it follows the remote's, as their own push would; none of their hooks runs, and nobody is asked for a password.
//!
//! What a push comes to is a [`Verdict`]. It can be done again: what the remote has already is [`Verdict::UpToDate`], also where
//! somebody pushed on top of it. What a killed process has left of a push is waited for, and a push that the remote refused is believed
//! only after a look at what it has.
//!
//! Contents of git-lfs are not uploaded, since that is the work of a hook: commits that point to new ones are not published.

mod after;
mod before;
mod lfs;
mod read;
mod remote;
mod there;
mod tracking;
mod verdict;

use std::ffi::OsString;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::borders::Border;
use crate::error::{GitError, WorktreeError};
use crate::keys::{BranchName, CodebaseKey, Oid};
use crate::parse;
use crate::repository::Repository;
use crate::runner::{Answer, Call};
use crate::store::Store;

pub use after::LocalAfterPublish;
pub use remote::RemoteBranch;
pub use verdict::Verdict;

/// How often a push is tried that meets a lock, which another one may hold for a moment.
const LOCK_TRIES: u32 = 4;
const LOCK_PAUSE: Duration = Duration::from_millis(500);

/// What is to be published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// The codebase, in whose store the commit is.
    pub codebase: CodebaseKey,
    /// The commit.
    pub commit: Oid,
    /// As what.
    pub to: PublishTo,
    /// How long the remote may take.
    pub limit: Duration,
}

/// As which branch of which remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishTo {
    /// As a card's branch, at the remote of its base.
    Card {
        /// The card's branch, there as here.
        branch: BranchName,
        /// The base of the card.
        base: BranchName,
    },
    /// As a base: the branch that it follows, else the one of its name.
    Base {
        /// The user's branch.
        base: BranchName,
    },
    /// As a base, where the person publishes it already; [`Verdict::NoRemote`] where they do not.
    Followed {
        /// The user's branch.
        base: BranchName,
    },
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Where to; `None` when no remote can be told.
    pub to: Option<RemoteBranch>,
    /// How it ended.
    pub verdict: Verdict,
}

/// What publishing would come to, as far as a remote tells before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// Where to; `None` when no remote can be told.
    pub to: Option<RemoteBranch>,
    /// How it would end. A remote names its own rules only when it is asked in earnest.
    pub verdict: Verdict,
    /// How many commits of the user's own base would be published with it, because the remote does not have them yet.
    pub unpushed: usize,
}

/// Whether the remote is asked in earnest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Push,
    Ask,
}

impl PublishTo {
    fn base(&self) -> &BranchName {
        match self {
            Self::Card { base, .. } | Self::Base { base } | Self::Followed { base } => base,
        }
    }
}

impl Worktrees {
    /// Pushes a commit of the store. Idempotent: repeated it says [`Verdict::UpToDate`], also after a crash or a time-out in which
    /// the remote had taken it.
    ///
    /// Everything that a remote can answer is a verdict, and so is a commit that is not in the store of this machine (WT-15, WT-16).
    ///
    /// # Errors
    /// Git could not be run.
    pub async fn publish(
        &self,
        repository: &Repository,
        publish: &Publish,
    ) -> Result<Published, WorktreeError> {
        let store = self.store(&publish.codebase);
        let (to, pushed) = push(&store, repository, publish, Mode::Push).await?;
        if pushed.verdict.is_at_remote() {
            self.reach(Border::Published);
        }
        tracing::info!(to = ?to, verdict = ?pushed.verdict, "published");
        Ok(Published {
            to,
            verdict: pushed.verdict,
        })
    }

    /// Waits for what a killed process has left of such a push, so that what the remote has is what it will have. A publication does that
    /// by itself.
    ///
    /// # Errors
    /// Git could not be run.
    pub async fn await_former_push(
        &self,
        repository: &Repository,
        publish: &Publish,
    ) -> Result<(), WorktreeError> {
        let store = self.store(&publish.codebase);
        if let Some(to) = target(&store, repository, publish).await? {
            before::await_former(&store, &to, publish.limit).await;
        }
        Ok(())
    }

    /// How many commits of the user's own base go along with a push, as the remote was last fetched or pushed to: all that the base has,
    /// or, with the branch of a card, what that began from. Asks no remote.
    ///
    /// # Errors
    /// Git could not be run.
    pub async fn unpushed_with(
        &self,
        repository: &Repository,
        base: &BranchName,
        card: Option<&BranchName>,
        to: &RemoteBranch,
    ) -> Result<usize, WorktreeError> {
        let git = self.git();
        let base = base.full_ref();
        let from = match card {
            None => base,
            Some(card) => {
                let shared = repository.call("merge-base");
                let shared = git
                    .run(shared.args(["merge-base", &card.full_ref(), &base]))
                    .await?;
                if shared.code != 0 {
                    return Ok(0);
                }
                parse::oid("merge-base", &shared.stdout)?.as_str().to_owned()
            }
        };
        let count = repository
            .call("rev-list")
            .args(["rev-list", "--count", &from, "--not"]);
        let count = count.arg(format!("--remotes={}", to.remote)).arg("--");
        number(&git.ok(count).await?)
    }

    /// Asks the remote what [`publish`](Self::publish) would come to, and changes nothing anywhere.
    ///
    /// # Errors
    /// Git could not be run.
    pub async fn outlook(
        &self,
        repository: &Repository,
        publish: &Publish,
    ) -> Result<Outlook, WorktreeError> {
        let store = self.store(&publish.codebase);
        let (to, pushed) = push(&store, repository, publish, Mode::Ask).await?;
        let unpushed = match (&pushed.verdict, &to) {
            (Verdict::Published, Some(to)) => {
                unpushed(&store, repository, publish, to, pushed.old.as_deref()).await?
            }
            _ => 0,
        };
        Ok(Outlook {
            to,
            verdict: pushed.verdict,
            unpushed,
        })
    }
}

/// What a push came to.
struct Pushed {
    verdict: Verdict,
    /// What the remote's branch was before, as git abbreviates it.
    old: Option<String>,
}

impl From<Verdict> for Pushed {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, old: None }
    }
}

async fn push(
    store: &Store,
    repository: &Repository,
    publish: &Publish,
    mode: Mode,
) -> Result<(Option<RemoteBranch>, Pushed), WorktreeError> {
    let Some(to) = target(store, repository, publish).await? else {
        return Ok((None, Verdict::NoRemote.into()));
    };
    if store.commit(publish.commit.as_str()).await?.is_none() {
        return Ok((Some(to), Verdict::NotHere.into()));
    }
    match lfs::new_contents(store, repository, publish, &to).await {
        Ok(0) => {}
        Ok(contents) => return Ok((Some(to), Verdict::Lfs { contents }.into())),
        // What cannot be looked at may point to contents that nobody would upload.
        Err(WorktreeError::Git(GitError::OverCap { .. })) => {
            let words = "there is too much that this remote does not have to look for contents of git-lfs in it: fetch from it, or \
                         push the base to it once yourself"
                .to_owned();
            return Ok((Some(to), Verdict::Other { words }.into()));
        }
        Err(error) => return Err(error),
    }
    let urls = repository.push_urls(&store.git, &to.remote).await?;
    if urls.is_empty() {
        return Ok((Some(to), Verdict::NoRemote.into()));
    }
    let at = At {
        store,
        repository,
        publish,
        to: &to,
        urls: &urls,
    };
    let pushed = match mode {
        Mode::Push => at.push().await?,
        Mode::Ask => at.corrected(at.push_once(mode).await?).await?,
    };
    Ok((Some(to), pushed))
}

/// Where to, if any remote can be told.
async fn target(
    store: &Store,
    repository: &Repository,
    publish: &Publish,
) -> Result<Option<RemoteBranch>, WorktreeError> {
    let base = publish.to.base();
    let remote = match &publish.to {
        PublishTo::Card { .. } | PublishTo::Base { .. } => repository.remote_of(&store.git, base).await?,
        PublishTo::Followed { .. } => repository.followed(&store.git, base).await?,
    };
    Ok(remote.map(|remote| RemoteBranch {
        branch: match &publish.to {
            PublishTo::Card { branch, .. } => branch.clone(),
            PublishTo::Base { .. } | PublishTo::Followed { .. } => remote.branch,
        },
        remote: remote.remote,
    }))
}

/// A push whose remote is known.
struct At<'a> {
    store: &'a Store,
    repository: &'a Repository,
    publish: &'a Publish,
    to: &'a RemoteBranch,
    urls: &'a [OsString],
}

impl At<'_> {
    /// Pushes until the remote has said something that counts. The push of a process before this one may be under way still: it is
    /// waited for, its lock is no refusal, and what it has brought there is found.
    async fn push(&self) -> Result<Pushed, WorktreeError> {
        before::await_former(self.store, self.to, self.publish.limit).await;
        for _ in 1..LOCK_TRIES {
            let pushed = self.corrected(self.push_once(Mode::Push).await?).await?;
            if !matches!(pushed.verdict, Verdict::RefConflict { .. }) {
                return Ok(pushed);
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        self.corrected(self.push_once(Mode::Push).await?).await
    }

    async fn push_once(&self, mode: Mode) -> Result<Pushed, WorktreeError> {
        let (store, publish) = (self.store, self.publish);
        let call = self.call("push").await?.fails_on_locks().limit(publish.limit);
        let mut call = call.args(FLAGS);
        if mode == Mode::Ask {
            call = call.arg("--dry-run");
        }
        let refspec = format!("{}:{}", publish.commit, self.to.branch.full_ref());
        let call = call.arg("--end-of-options").args(self.urls.first()).arg(refspec);
        let pushed = judge(store.git.run(call).await, self.urls, publish.limit)?;
        if mode == Mode::Push && pushed.verdict.is_at_remote() {
            self.track().await;
        }
        Ok(pushed)
    }

    /// A call that goes to the remote, and sees the objects of the store.
    async fn call(&self, op: &'static str) -> Result<Call, WorktreeError> {
        let mut reach = self.repository.reach(&self.store.git).await?;
        reach.variables.push(before::mark(self.store, self.to));
        let call = self.repository.call(op).cwd(&self.repository.toplevel);
        Ok(call
            .reaching(reach)
            .borrow_objects(&self.store.dir.join("objects")))
    }
}

/// Nothing but the one ref goes, whatever the person's configuration adds to a push.
const FLAGS: [&str; 9] = [
    "push",
    "--porcelain",
    "--no-progress",
    "--no-verify",
    "--no-follow-tags",
    "--no-signed",
    "--no-force-with-lease",
    "--no-force-if-includes",
    "--recurse-submodules=no",
];

fn judge(
    answer: Result<Answer, GitError>,
    urls: &[OsString],
    limit: Duration,
) -> Result<Pushed, WorktreeError> {
    match answer {
        Ok(answer) => {
            let words = read::Words::new(&answer.stderr, urls);
            Ok(match read::status(&answer.stdout) {
                Some(status) => Pushed {
                    verdict: read::of_status(&status, words),
                    old: status.old,
                },
                None => read::of_failure(words).into(),
            })
        }
        Err(GitError::TimedOut { .. }) => Ok(Verdict::Timeout { limit: Some(limit) }.into()),
        Err(GitError::OverCap { .. }) => Ok(Verdict::Other { words: String::new() }.into()),
        Err(error) => Err(error.into()),
    }
}

/// How many commits of the user's base go along: those that the remote lacks, as it was last fetched and as it says now. What its
/// branch was is known here, since the push is a fast-forward.
async fn unpushed(
    store: &Store,
    repository: &Repository,
    publish: &Publish,
    remote: &RemoteBranch,
    old: Option<&str>,
) -> Result<usize, WorktreeError> {
    let call = |op| repository.call(op).borrow_objects(&store.dir.join("objects"));
    let base = publish.to.base().full_ref();
    let shared = call("merge-base").args(["merge-base", publish.commit.as_str(), &base]);
    let shared = store.git.run(shared).await?;
    if shared.code != 0 {
        // No such branch, or nothing in common.
        return Ok(0);
    }
    let shared = parse::oid("merge-base", &shared.stdout)?;
    let count = call("rev-list").args(["rev-list", "--count", shared.as_str(), "--not"]);
    let count = count.arg(format!("--remotes={}", remote.remote));
    number(&store.git.ok(count.args(old).arg("--")).await?)
}

fn number(out: &[u8]) -> Result<usize, WorktreeError> {
    let count = String::from_utf8_lossy(out).trim().parse();
    count.map_err(|_| {
        GitError::Unreadable {
            op: "rev-list",
            what: "a number was expected",
        }
        .into()
    })
}
