//! What a card changed, for a person to read.

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse;
use crate::salvage;
use crate::status;
use crate::store::{self, Store};
use crate::tree::{Tree, TreeSpec};

/// The commits that [`Worktrees::log_summary`] gives, at most.
const LOG_MAX: &str = "--max-count=200";

/// One commit of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSummary {
    /// The commit.
    pub commit: Oid,
    /// Its author's name.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
}

impl Worktrees {
    /// The card's changes as a patch: from where it branched off its base to the files of its tree, uncommitted and new
    /// ones included; without a tree on this machine, to the card's head. At most 64 MiB.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`], [`WorktreeError::NotOurTree`], or git or the disk failed.
    pub async fn diff(&self, spec: &TreeSpec) -> Result<Vec<u8>, WorktreeError> {
        self.compare_with_branch_point(spec).await
    }

    async fn compare_with_branch_point(&self, spec: &TreeSpec) -> Result<Vec<u8>, WorktreeError> {
        let _lock = self.lock(&spec.codebase).await?;
        let store = self.store(&spec.codebase);
        let (commit, tree_object) = match self.find_tree(spec)? {
            None => {
                let head = store.card_head(&spec.card).await?;
                (head.clone(), head)
            }
            Some(tree) => {
                let mut look = status::look(&store, &tree).await?;
                let object = salvage::snapshot(&store, &mut look, &[]).await?;
                (look.parent.clone(), object)
            }
        };
        let from = branch_point(&store, spec, &commit).await?;
        let diff = store
            .call("diff")
            .args(["diff", "--no-ext-diff", "--no-textconv", "--no-color", "-M"]);
        Ok(self
            .git()
            .ok(diff.args([from.as_str(), tree_object.as_str(), "--"]))
            .await?)
    }

    /// The card's commits, newest first, at most 200.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`], or git failed.
    pub async fn log_summary(&self, spec: &TreeSpec) -> Result<Vec<CommitSummary>, WorktreeError> {
        let store = self.store(&spec.codebase);
        let head = store.card_head(&spec.card).await?;
        let from = branch_point(&store, spec, &head).await?;
        let log = store
            .call("log")
            .args(["log", "-z", "--no-color", LOG_MAX, "--format=%H%n%an%n%s"]);
        let out = self
            .git()
            .ok(log.arg(format!("{from}..{head}")).arg("--"))
            .await?;
        let mut commits = Vec::new();
        for entry in parse::z_fields(&out) {
            let mut lines = entry
                .splitn_str(3, "\n")
                .map(|line| line.to_str_lossy().into_owned());
            let commit = parse::oid("log", lines.next().unwrap_or_default().as_bytes())?;
            let author = lines.next().unwrap_or_default();
            commits.push(CommitSummary {
                commit,
                author,
                subject: lines.next().unwrap_or_default(),
            });
        }
        Ok(commits)
    }
}

impl Worktrees {
    /// Says whether a tree stands on a commit that neither the base had when the card began nor any of these commits holds:
    /// those of the card's landings, to ask whether there is anything to land. A landed commit that the store does not know
    /// is passed over. Of the base as it is now it says nothing.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`], [`WorktreeError::CodebaseBusy`], or git failed.
    pub async fn has_new_commits(&self, tree: &Tree, landed: &[Oid]) -> Result<bool, WorktreeError> {
        let spec = &tree.spec;
        let _lock = self.lock(&spec.codebase).await?;
        let store = self.store(&spec.codebase);
        let head = match status::fetch_head(&store, tree).await? {
            Some(head) => head,
            None => store.card_head(&spec.card).await?,
        };
        let began = store.commit(&store::card_base_ref(&spec.card)).await?;
        if store
            .is_ancestor(&head, &began.ok_or(WorktreeError::NoCard)?)
            .await?
        {
            return Ok(false);
        }
        for commit in landed {
            if store.commit(commit.as_str()).await?.is_some() && store.is_ancestor(&head, commit).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Where the card's history leaves the base, by the base as last fetched; else where the card began.
async fn branch_point(store: &Store, spec: &TreeSpec, commit: &Oid) -> Result<Oid, WorktreeError> {
    let began = store
        .commit(&store::card_base_ref(&spec.card))
        .await?
        .ok_or(WorktreeError::NoCard)?;
    let Some(base) = store.commit(&store::base_ref(&spec.base_branch)).await? else {
        return Ok(began);
    };
    // Once the card has landed its commits are in the base, and the merge base would hide them all.
    if store.is_ancestor(commit, &base).await? {
        return Ok(began);
    }
    Ok(store.merge_base(&base, commit).await?.unwrap_or(began))
}
