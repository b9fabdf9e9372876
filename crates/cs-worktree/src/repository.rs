//! The user's repository: what it is, which branch is the base, who has what checked out.

use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::base::Upstream;
use crate::busy::{self, BusyWith};
use crate::error::WorktreeError;
use crate::keys::{BranchName, Oid};
use crate::parse;
use crate::runner::{Call, Git, World};

/// A user's repository, found and usable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The root of the working tree that was asked about, absolute.
    pub toplevel: PathBuf,
    /// The git directory that all working trees of the repository share, absolute.
    pub common_dir: PathBuf,
}

/// What [`Repository::inspect`] saw. A snapshot: the user goes on working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The repository.
    pub repository: Repository,
    /// The branch of the main working tree (of the asked one where the repository is bare); `None` when it is detached.
    pub current_branch: Option<BranchName>,
    /// The branch to work from: the current one, else the remote's default branch as far as it is known here, then
    /// `init.defaultBranch`, `main` or `master`, the first that exists.
    pub base_branch: BranchName,
    /// The commit of the base branch.
    pub base_commit: Oid,
    /// The remote's branch that belongs to the base, as last fetched.
    pub upstream: Option<Upstream>,
    /// Number of uncommitted changes in the asked working tree, untracked files included. Agents do not see them.
    pub uncommitted: usize,
    /// Whether the repository has a remote.
    pub has_remote: bool,
}

/// One working tree of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkout {
    pub(crate) path: PathBuf,
    /// Its own git directory: the common one, or one below `worktrees/`.
    pub(crate) git_dir: PathBuf,
    /// The full name of the checked-out branch.
    pub(crate) branch: Option<String>,
}

impl Repository {
    /// Looks at the repository around `path`. Reads only; works whatever state the user's tree is in.
    ///
    /// # Errors
    /// [`WorktreeError::NotARepository`], [`WorktreeError::Bare`], [`WorktreeError::Empty`],
    /// [`WorktreeError::ForeignOwner`], [`WorktreeError::NoBase`], or git failed.
    pub async fn inspect(git: &Git, path: &Path) -> Result<Inspection, WorktreeError> {
        let repository = Self::find(git, path).await?;
        let current_branch = repository.current_branch(git).await?;
        let (base_branch, base_commit) = repository.base(git, current_branch.as_ref()).await?;
        let upstream = repository.upstream(git, &base_branch).await?;
        let uncommitted = repository.uncommitted(git).await?;
        let remotes = git.ok(repository.call("remote").arg("remote")).await?;
        Ok(Inspection {
            repository,
            current_branch,
            base_branch,
            base_commit,
            upstream,
            uncommitted,
            has_remote: !remotes.trim_ascii().is_empty(),
        })
    }

    async fn find(git: &Git, path: &Path) -> Result<Self, WorktreeError> {
        let not_there = || WorktreeError::NotARepository {
            path: path.to_owned(),
        };
        let path = path.canonicalize().map_err(|_| not_there())?;
        let dir = if path.is_dir() {
            path.as_path()
        } else {
            path.parent().ok_or_else(not_there)?
        };
        let ask = |what: &str| {
            let call = Call::new(World::User, "rev-parse").cwd(dir).reads_only();
            call.args(["rev-parse", "--path-format=absolute", what])
        };
        let common = git.run(ask("--git-common-dir")).await?;
        if common.code != 0 {
            // Git says "dubious ownership" only in its text; there is no other sign.
            if common.stderr.contains_str("dubious ownership") {
                return Err(WorktreeError::ForeignOwner { path });
            }
            return Err(not_there());
        }
        let common_dir = parse::line_path(&common.stdout);
        let top = git.run(ask("--show-toplevel")).await?;
        let toplevel = parse::line_path(&top.stdout);
        if top.code != 0 || toplevel.as_os_str().is_empty() {
            return Err(WorktreeError::Bare { path });
        }
        Ok(Self { toplevel, common_dir })
    }

    /// A call on the repository's shared git directory, in the user's world.
    pub(crate) fn call(&self, op: &'static str) -> Call {
        Call::new(World::User, op).git_dir(&self.common_dir)
    }

    async fn current_branch(&self, git: &Git) -> Result<Option<BranchName>, WorktreeError> {
        let bare = git
            .ok(self.call("rev-parse").args(["rev-parse", "--is-bare-repository"]))
            .await?;
        // A bare repository with linked working trees has no main one: the tree that was asked about stands in.
        let call = match bare.trim_ascii() {
            b"true" => Call::new(World::User, "symbolic-ref").cwd(&self.toplevel),
            _ => self.call("symbolic-ref"),
        };
        let head = git.run(call.args(["symbolic-ref", "--quiet", "HEAD"])).await?;
        let name = head
            .stdout
            .trim_ascii()
            .strip_prefix(b"refs/heads/")
            .map(|n| n.to_str_lossy().into_owned());
        Ok(name.and_then(|name| BranchName::new(name).ok()))
    }

    async fn base(
        &self,
        git: &Git,
        current: Option<&BranchName>,
    ) -> Result<(BranchName, Oid), WorktreeError> {
        let mut candidates: Vec<BranchName> = current.cloned().into_iter().collect();
        candidates.extend(self.remembered_default(git, "origin").await?);
        let default = git
            .run(self.call("config").args(["config", "init.defaultBranch"]))
            .await?;
        let default = default.stdout.trim_ascii().to_str_lossy().into_owned();
        candidates.extend(
            [default, "main".into(), "master".into()]
                .into_iter()
                .flat_map(BranchName::new),
        );
        for branch in &candidates {
            if let Some(commit) = self.branch_tip(git, branch).await? {
                return Ok((branch.clone(), commit));
            }
        }
        let any = git
            .ok(self
                .call("for-each-ref")
                .args(["for-each-ref", "--count=1", "refs/heads"]))
            .await?;
        if any.is_empty() && self.commit_of(git, "HEAD").await?.is_none() {
            return Err(WorktreeError::Empty {
                path: self.toplevel.clone(),
            });
        }
        let tried: Vec<&str> = candidates.iter().map(BranchName::as_str).collect();
        Err(WorktreeError::NoBase {
            tried: tried.join(", "),
        })
    }

    async fn uncommitted(&self, git: &Git) -> Result<usize, WorktreeError> {
        let status = Call::new(World::User, "status").cwd(&self.toplevel).reads_only();
        let status = status.args([
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
        ]);
        Ok(parse::z_fields(&git.ok(status).await?).count())
    }

    /// The commit of a local branch now; `None` when there is no such branch.
    ///
    /// # Errors
    /// Git failed.
    pub async fn branch_tip(&self, git: &Git, branch: &BranchName) -> Result<Option<Oid>, WorktreeError> {
        self.commit_of(git, &branch.full_ref()).await
    }

    pub(crate) async fn commit_of(&self, git: &Git, rev: &str) -> Result<Option<Oid>, WorktreeError> {
        commit_of(git, self.call("rev-parse"), rev).await
    }

    /// The remote that is to have what a partial clone lacks; `None` when the repository is none.
    pub(crate) async fn promisor(&self, git: &Git) -> Result<Option<String>, WorktreeError> {
        let ask = self.call("config").reads_only();
        let ask = ask.args([
            "config",
            "-z",
            "--type=bool",
            "--get-regexp",
            r"^remote\..*\.promisor$",
        ]);
        let answer = git.run(ask).await?;
        let name = |field: &[u8]| {
            let key = field.strip_suffix(b"\ntrue")?;
            let name = key.strip_prefix(b"remote.")?.strip_suffix(b".promisor")?;
            Some(name.to_str_lossy().into_owned())
        };
        if let Some(named) = parse::z_fields(&answer.stdout).find_map(name) {
            return Ok(Some(named));
        }
        // As git wrote it before it knew more than one such remote.
        let ask = self.call("config").reads_only();
        let answer = git.run(ask.args(["config", "extensions.partialClone"])).await?;
        let named = answer.stdout.trim_ascii().to_str_lossy().into_owned();
        Ok((!named.is_empty()).then_some(named))
    }

    /// All working trees of the repository, the main one first.
    pub(crate) async fn checkouts(&self, git: &Git) -> Result<Vec<Checkout>, WorktreeError> {
        let list = self
            .call("worktree list")
            .args(["worktree", "list", "--porcelain", "-z"]);
        let listed = parse::worktree_list(&git.ok(list).await?);
        let linked = busy::linked_git_dirs(&self.common_dir);
        let checkout = |(at, tree): (usize, parse::ListedWorktree)| {
            let real = tree.path.canonicalize().unwrap_or_else(|_| tree.path.clone());
            let own = linked
                .iter()
                .find(|(path, _)| *path == real || *path == tree.path);
            let git_dir = match own {
                _ if at == 0 => self.common_dir.clone(),
                Some((_, dir)) => dir.clone(),
                // Git follows the link file; what is under way there cannot be seen, but the checkout counts.
                None => tree.path.join(".git"),
            };
            Checkout {
                path: tree.path,
                git_dir,
                branch: tree.branch,
            }
        };
        Ok(listed.into_iter().enumerate().map(checkout).collect())
    }

    /// What keeps the branch from being moved, in any working tree; and the tree that has it checked out.
    pub(crate) async fn holders(&self, git: &Git, branch: &BranchName) -> Result<Holders, WorktreeError> {
        let full = branch.full_ref();
        let mut holders = Holders {
            checked_out: Vec::new(),
            busy: None,
        };
        for checkout in self.checkouts(git).await? {
            let checked_out = checkout.branch.as_deref() == Some(&full);
            let busy = busy::busy_with(&checkout.git_dir, &full, checked_out);
            holders.busy = holders.busy.or(busy);
            if checked_out {
                holders.checked_out.push(checkout);
            }
        }
        Ok(holders)
    }
}

/// Who holds a branch.
#[derive(Debug)]
pub(crate) struct Holders {
    pub(crate) checked_out: Vec<Checkout>,
    pub(crate) busy: Option<BusyWith>,
}

/// The commit that `rev` names in the repository of `call`; `None` when it names none.
pub(crate) async fn commit_of(git: &Git, call: Call, rev: &str) -> Result<Option<Oid>, WorktreeError> {
    let spec = format!("{rev}^{{commit}}");
    let answer = git
        .run(call.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &spec]))
        .await?;
    if answer.code != 0 {
        return Ok(None);
    }
    Ok(Some(parse::oid("rev-parse", &answer.stdout)?))
}
