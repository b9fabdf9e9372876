//! After an attempt: everything it committed goes to the store, the card moves on, the user sees the branch.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::error::WorktreeError;
use crate::fetch;
use crate::keys::{Oid, RunKey};
use crate::repository::Repository;
use crate::runner::COPY_LIMIT;
use crate::status;
use crate::store::{self, RefChange, RefMove, Store};
use crate::tree::{Tree, TreeSpec};

/// Lost commits that are looked for in the reflogs of a tree, at most.
const REFLOG_COMMITS_MAX: usize = 500;
/// A reflog larger than this is not read.
const REFLOG_MAX_BYTES: u64 = 8 << 20;

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
        let _lock = self.lock(&tree.spec.codebase).await?;
        let store = self.store(&tree.spec.codebase);
        let card = store::head_ref(&tree.spec.card);
        let start = run_start(&store, tree, run).await?;
        let gathered = gather(&store, tree, run).await?;
        let look = status::look(&store, tree).await?;
        let before = store.card_head(&tree.spec.card).await?;
        let head = if gathered.complete_refs {
            store.commit(&store::run_ref(run, "HEAD")).await?
        } else {
            None
        };
        let tip = head.clone().unwrap_or_else(|| before.clone());
        if tip != before && store.move_ref(&card, &tip, Some(&before)).await? == RefMove::Stale {
            return Err(WorktreeError::Corrupt {
                what: "the card's head moved under our lock".into(),
            });
        }
        let user_branch = self.show_branch(&store, repository, &tree.spec, &tip).await?;
        Ok(Collected {
            new_commits: store.count(&start, &tip).await?,
            dirty: !look.entries.is_empty() || !look.special.is_empty(),
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
        fetch_into(self.git(), repository, store, &format!("+{head}:{head}")).await?;
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
        match store::move_ref(self.git(), call, &spec.branch.full_ref(), change).await? {
            RefMove::Moved if now.is_some() => Ok(UserBranch::Moved),
            RefMove::Moved => Ok(UserBranch::Made),
            RefMove::Stale => Ok(UserBranch::Diverged),
        }
    }
}

/// Fetches one ref of the store into the user's repository; nothing but objects and that ref is written there.
pub(crate) async fn fetch_into(
    git: &crate::Git,
    repository: &Repository,
    store: &Store,
    refspec: &str,
) -> Result<(), WorktreeError> {
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
    git.ok(fetch.arg(&store.dir).arg(refspec)).await?;
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

/// What could be taken from a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gathered {
    /// All refs and HEAD were fetched.
    pub(crate) complete_refs: bool,
    /// All commits that only the reflogs know were fetched.
    pub(crate) complete_history: bool,
}

/// Fetches all refs, HEAD, and the commits that only the reflogs know, under the run's key.
pub(crate) async fn gather(store: &Store, tree: &Tree, run: &RunKey) -> Result<Gathered, WorktreeError> {
    let nothing = Gathered {
        complete_refs: false,
        complete_history: false,
    };
    if !fetch::is_safe(&store.git, tree) {
        return Ok(nothing);
    }
    // Wildcards: a named ref that is missing would abort the whole fetch.
    let all = format!("+refs/*:{}", store::run_ref(run, "refs/*"));
    let refs = fetch::fetch_from_tree(store, tree, &[&all, "^refs/remotes/origin/*"]).await?;
    let head = format!("+HEAD:{}", store::run_ref(run, "HEAD"));
    let head = fetch::fetch_from_tree(store, tree, &[&head]).await?;
    let complete_history = gather_reflogs(store, tree, run).await?;
    Ok(Gathered {
        complete_refs: refs && head,
        complete_history,
    })
}

async fn gather_reflogs(store: &Store, tree: &Tree, run: &RunKey) -> Result<bool, WorktreeError> {
    let mut mentioned = BTreeSet::new();
    let mut complete = read_reflogs(&tree.path.join(".git/logs"), 0, &mut mentioned);
    let lost = missing(store, &mentioned).await?;
    for commit in lost.iter().take(REFLOG_COMMITS_MAX) {
        // An earlier one may have brought it.
        if missing(store, &BTreeSet::from([commit.clone()]))
            .await?
            .is_empty()
            && is_kept(store, commit).await?
        {
            continue;
        }
        let refspec = format!("+{commit}:{}", store::run_ref(run, &format!("reflog/{commit}")));
        // A commit that the tree has dropped itself is not there to be fetched.
        complete &=
            fetch::fetch_from_tree(store, tree, &[&refspec]).await? || !in_tree(store, tree, commit).await?;
    }
    Ok(complete && lost.len() <= REFLOG_COMMITS_MAX)
}

/// Which of the objects the store does not have.
async fn missing(store: &Store, wanted: &BTreeSet<Oid>) -> Result<Vec<Oid>, WorktreeError> {
    let names: String = wanted.iter().map(|oid| format!("{oid}\n")).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let check = store
        .call("cat-file")
        .args(["cat-file", "--batch-check=%(objectname)"])
        .stdin(names);
    let out = store.git.ok(check).await?;
    let missing = out.lines().filter_map(|line| line.strip_suffix(b" missing"));
    Ok(missing
        .filter_map(|name| Oid::new(name.to_str_lossy()).ok())
        .collect())
}

async fn is_kept(store: &Store, commit: &Oid) -> Result<bool, WorktreeError> {
    let find = store
        .call("for-each-ref")
        .args(["for-each-ref", "--count=1", "--contains", commit.as_str()]);
    Ok(store
        .git
        .run(find)
        .await?
        .stdout
        .starts_with(commit.as_str().as_bytes()))
}

async fn in_tree(store: &Store, tree: &Tree, commit: &Oid) -> Result<bool, WorktreeError> {
    let look = store
        .call("cat-file")
        .borrow_objects(&tree.path.join(".git/objects"));
    Ok(store
        .git
        .run(look.args(["cat-file", "-e", commit.as_str()]))
        .await?
        .code
        == 0)
}

/// Collects the object names in all reflogs; says whether every one could be read.
fn read_reflogs(dir: &Path, depth: u8, found: &mut BTreeSet<Oid>) -> bool {
    let Ok(entries) = fs::read_dir(dir) else {
        return depth == 0;
    };
    let mut complete = true;
    for entry in entries.flatten() {
        let Ok(meta) = entry.path().symlink_metadata() else {
            continue;
        };
        if meta.is_dir() && depth < 32 {
            complete &= read_reflogs(&entry.path(), depth + 1, found);
        } else if meta.is_file() && meta.len() <= REFLOG_MAX_BYTES {
            let Ok(text) = fs::read(entry.path()) else {
                complete = false;
                continue;
            };
            let names = text.lines().flat_map(|line| line.splitn_str(3, " ").take(2));
            let names = names.filter_map(|name| Oid::new(name.to_str_lossy()).ok());
            found.extend(names.filter(|oid| oid.zero_like() != oid.as_str()));
        } else {
            complete = false;
        }
    }
    complete
}
