//! What workers did, brought to the tree of the owner: their commits, without running git in it.

use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::disk;
use crate::error::WorktreeError;
use crate::keys::{BranchName, Oid};
use crate::parse;
use crate::path::RepoPath;
use crate::status;
use crate::store::{self, Store};
use crate::tree::{self, Tree, TreeSpec};

/// A worker's branch as its owner finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerBranch {
    /// The worker's branch. In the owner's tree it is `origin/<branch>`.
    pub branch: BranchName,
    /// Its commit.
    pub tip: Oid,
    /// How many commits it has that the owner's tree has not.
    pub new_commits: usize,
    /// Files in which it conflicts with what the owner has committed; none when it merges cleanly.
    pub conflicts: Vec<RepoPath>,
}

impl Worktrees {
    /// Brings the collected commits of workers into the owner's tree, as remote-tracking branches: no branch, file or index
    /// of the tree is touched. Workers that were never collected here are passed over. Idempotent.
    ///
    /// The caller has proof that nothing runs in the tree.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git or the disk failed.
    pub async fn bring_workers(
        &self,
        owner: &Tree,
        workers: &[TreeSpec],
    ) -> Result<Vec<WorkerBranch>, WorktreeError> {
        let _lock = self.lock(&owner.spec.codebase).await?;
        let store = self.store(&owner.spec.codebase);
        let head = match status::fetch_head(&store, owner).await? {
            Some(head) => head,
            None => store.card_head(&owner.spec.card).await?,
        };
        let mut brought = Vec::new();
        for worker in workers {
            let Some(tip) = store.commit(&store::head_ref(&worker.card)).await? else {
                continue;
            };
            let new_commits = store.count(&head, &tip).await?;
            if tree::own_directories(&owner.path) {
                bring(&store, owner, worker, &head, &tip).await?;
            }
            let conflicts = match new_commits {
                0 => Vec::new(),
                _ => conflicts(&store, &head, &tip).await?,
            };
            brought.push(WorkerBranch {
                branch: worker.branch.clone(),
                tip,
                new_commits,
                conflicts,
            });
        }
        Ok(brought)
    }
}

async fn bring(
    store: &Store,
    owner: &Tree,
    worker: &TreeSpec,
    head: &Oid,
    tip: &Oid,
) -> Result<(), WorktreeError> {
    if !store.is_ancestor(tip, head).await? {
        tree::bring_objects(store, owner, head, tip).await?;
    }
    let mut dir = owner.path.join(".git/refs");
    let below = format!("remotes/origin/{}", worker.branch);
    // A link among the directories would lead out of the tree: then the branch is only named.
    for part in below.split('/') {
        if dir.symlink_metadata().is_ok_and(|m| !m.is_dir()) {
            return Ok(());
        }
        dir.push(part);
    }
    disk::write_atomically(&dir, format!("{tip}\n").as_bytes())
}

async fn conflicts(store: &Store, head: &Oid, tip: &Oid) -> Result<Vec<RepoPath>, WorktreeError> {
    let merge = store.call("merge-tree").args([
        "merge-tree",
        "--write-tree",
        "-z",
        "--messages",
        "--allow-unrelated-histories",
        head.as_str(),
        tip.as_str(),
    ]);
    let answer = store.git.run(merge).await?;
    match answer.code {
        0 => Ok(Vec::new()),
        1 => Ok(parse::merge_tree(&answer.stdout)?.conflicted),
        _ => Err(answer.into_error("merge-tree").into()),
    }
}
