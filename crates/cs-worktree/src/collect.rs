//! After an attempt: everything it committed goes to the store, the card moves on, the user sees the branch.

use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::borders::Border;
use crate::disk;
use crate::error::WorktreeError;
use crate::fetch::Source;
use crate::gather::{HeadSeen, gather};
use crate::keys::{Oid, RunKey};
use crate::lfs;
use crate::repository::Repository;
use crate::runner::COPY_LIMIT;
use crate::status;
use crate::store::{self, RefChange, RefMove, Store};
use crate::tree::{Tree, TreeSpec};

/// What an attempt left in its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// Where the card stands now: the tree's HEAD, whatever branch it is on.
    pub tip: Oid,
    /// Number of commits since the start of the attempt.
    pub new_commits: usize,
    /// Whether the tree has uncommitted files or something a snapshot cannot carry.
    pub dirty: bool,
    /// Whether the start of the attempt is no longer in the history of the tip. It is kept under the run's refs.
    pub history_rewritten: bool,
    /// Whether the tree's HEAD could be read. If not, the card stands where it stood.
    pub head_readable: bool,
    /// What became of the card's branch in the user's repository.
    pub user_branch: UserBranch,
}

/// What became of the card's branch in the user's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserBranch {
    /// It is at the card's tip.
    UpToDate,
    /// It was made.
    Made,
    /// It was fast-forwarded.
    Moved,
    /// It was left alone: a working tree has it checked out, or a rebase or bisect holds it.
    CheckedOut,
    /// It was left alone: it has commits that the card does not have.
    Diverged,
}

impl Worktrees {
    /// Where a card stands in the store; `None` when it was never worked on here.
    ///
    /// # Errors
    /// Git failed.
    pub async fn card_head(&self, spec: &TreeSpec) -> Result<Option<Oid>, WorktreeError> {
        let store = self.store(&spec.codebase);
        match store.card_head(&spec.card).await {
            Ok(head) => Ok(Some(head)),
            Err(WorktreeError::NoCard) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes everything that an attempt committed, from every ref and reflog of its tree, into the store under the run's
    /// key; moves the card to the tree's HEAD; and fast-forwards the card's branch in the user's repository.
    ///
    /// Idempotent by the run key. The order is: store, card, user's branch; each step is atomic.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`], [`WorktreeError::CodebaseBusy`], or git or the disk failed.
    pub async fn collect(
        &self,
        repository: &Repository,
        tree: &Tree,
        run: &RunKey,
    ) -> Result<Collected, WorktreeError> {
        let collected = self.take_commits(repository, tree, run).await;
        collected.map_err(|error| disk::explain(self.root(), error))
    }

    async fn take_commits(
        &self,
        repository: &Repository,
        tree: &Tree,
        run: &RunKey,
    ) -> Result<Collected, WorktreeError> {
        let _lock = self.lock(&tree.spec.codebase).await?;
        let store = self.store(&tree.spec.codebase);
        let card = store::head_ref(&tree.spec.card);
        let start = run_start(&store, tree, run).await?;
        let gathered = gather(&store, &Source::of(tree), &store::run_ref(run, "")).await?;
        self.reach(Border::CommitsGathered);
        let has_lfs = lfs::take_objects(&store, &tree.path.join(".git")).await?;
        let look = status::look(&store, tree).await?;
        let before = store.card_head(&tree.spec.card).await?;
        let head = match gathered.head {
            HeadSeen::At(commit) => Some(commit),
            HeadSeen::Unborn | HeadSeen::Unreadable => None,
        };
        let tip = head.clone().unwrap_or_else(|| before.clone());
        if tip != before && store.move_ref(&card, &tip, Some(&before)).await? == RefMove::Stale {
            return Err(WorktreeError::Corrupt {
                what: "the card's head moved under our lock".into(),
            });
        }
        self.reach(Border::CardMoved);
        if tip != before {
            follow_base(&store, repository, &tree.spec, (&before, &tip)).await?;
        }
        let user_branch = self.show_branch(&store, repository, &tree.spec, &tip).await?;
        Ok(Collected {
            new_commits: store.count(&start, &tip).await?,
            dirty: !look.entries.is_empty()
                || !look.special.is_empty()
                || !look.staged.is_empty()
                || !has_lfs,
            history_rewritten: !store.is_ancestor(&start, &tip).await?,
            head_readable: head.is_some(),
            tip,
            user_branch,
        })
    }

    /// Puts the card's branch into the user's repository: only forward, only with its old value, never under a checkout.
    async fn show_branch(
        &self,
        store: &Store,
        repository: &Repository,
        spec: &TreeSpec,
        tip: &Oid,
    ) -> Result<UserBranch, WorktreeError> {
        let now = repository.branch_tip(self.git(), &spec.branch).await?;
        if now.as_ref() == Some(tip) {
            return Ok(UserBranch::UpToDate);
        }
        let holders = repository.holders(self.git(), &spec.branch).await?;
        if !holders.checked_out.is_empty() || holders.busy.is_some() {
            return Ok(UserBranch::CheckedOut);
        }
        let head = store::head_ref(&spec.card);
        lfs::bring_to_user(store, repository, tip, &[&store::card_base_ref(&spec.card)]).await?;
        fetch_into(self.git(), repository, store, &format!("+{head}:{head}")).await?;
        self.reach(Border::CommitsShown);
        if let Some(now) = &now {
            let range = ["merge-base", "--is-ancestor", now.as_str(), tip.as_str()];
            if self
                .git()
                .run(repository.call("merge-base").args(range))
                .await?
                .code
                != 0
            {
                return Ok(UserBranch::Diverged);
            }
        }
        let change = RefChange {
            new: tip,
            old: now.as_ref(),
            note: "cs-panel: card",
        };
        let call = repository.call("update-ref");
        let moved = store::move_ref(self.git(), call, &spec.branch.full_ref(), change).await?;
        self.reach(Border::BranchMoved);
        match moved {
            RefMove::Moved if now.is_some() => Ok(UserBranch::Moved),
            RefMove::Moved => Ok(UserBranch::Made),
            RefMove::Stale => Ok(UserBranch::Diverged),
        }
    }
}

/// A card that had no work of its own and was brought to a commit of its base begins there: what it has then is the person's, and is not
/// taken for work of the card that has landed.
async fn follow_base(
    store: &Store,
    repository: &Repository,
    spec: &TreeSpec,
    (before, tip): (&Oid, &Oid),
) -> Result<(), WorktreeError> {
    let name = store::card_base_ref(&spec.card);
    if store.commit(&name).await?.as_ref() != Some(before) || !store.is_ancestor(before, tip).await? {
        return Ok(());
    }
    let base = repository.branch_tip(&store.git, &spec.base_branch).await?;
    let Some(base) = base else {
        return Ok(());
    };
    // The base may have gone on by what the store does not have yet.
    let holds = repository.call("merge-base");
    let holds = holds.args(["merge-base", "--is-ancestor", tip.as_str(), base.as_str()]);
    if store.git.run(holds).await?.code == 0 {
        store.move_ref(&name, tip, Some(before)).await?;
    }
    Ok(())
}

/// Tries of a fetch into the user's repository: a repack that the user runs removes directories under the hands of git.
const FETCH_TRIES: u32 = 4;

/// Fetches one ref of the store into the user's repository; nothing but objects and that ref is written there.
pub(crate) async fn fetch_into(
    git: &crate::Git,
    repository: &Repository,
    store: &Store,
    refspec: &str,
) -> Result<(), WorktreeError> {
    let fetch = || {
        let fetch = repository.call("fetch").limit(COPY_LIMIT).args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--update-shallow",
        ]);
        let fetch = fetch.args([
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-write-commit-graph",
        ]);
        fetch.arg(&store.dir).arg(refspec)
    };
    for _ in 1..FETCH_TRIES {
        let answer = git.run(fetch()).await?;
        if answer.code == 0 {
            return Ok(());
        }
        tracing::debug!(error = %answer.into_error("fetch"), "a fetch into the user's repository is tried again");
    }
    git.ok(fetch()).await?;
    Ok(())
}

/// Where the card stood when the attempt began, noted once per run.
async fn run_start(store: &Store, tree: &Tree, run: &RunKey) -> Result<Oid, WorktreeError> {
    let name = store::run_ref(run, "start");
    if let Some(start) = store.commit(&name).await? {
        return Ok(start);
    }
    let head = store.card_head(&tree.spec.card).await?;
    store.move_ref(&name, &head, None).await?;
    Ok(head)
}
