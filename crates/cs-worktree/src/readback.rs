//! Reading a snapshot back. A name that git finds is no content: an object that was there before may be damaged, and git writes none
//! a second time.

use crate::error::{GitError, WorktreeError};
use crate::keys::Oid;
use crate::parse;
use crate::path::RepoPath;
use crate::status::{self, Look};
use crate::store::Store;

/// Contents that are read by one call, together; more than the largest file.
const READ_MAX_BYTES: u64 = 52 << 20;
/// Damaged files that are looked for one by one; with more of them the rest counts as damaged too.
const DAMAGED_MAX: usize = 50;

struct Blob {
    object: String,
    path: RepoPath,
    bytes: u64,
}

/// Reads the content of every file that the snapshot in the look's index has and its base has not, and gives those that cannot be
/// read. Git checks the sums of what it reads.
pub(crate) async fn damaged(store: &Store, look: &Look) -> Result<Vec<RepoPath>, WorktreeError> {
    let mut damaged = Vec::new();
    let mut lists = vec![added(store, look).await?];
    while let Some(mut list) = lists.pop() {
        if list.is_empty() {
            continue;
        }
        if damaged.len() >= DAMAGED_MAX {
            damaged.extend(list.into_iter().map(|blob| blob.path));
            continue;
        }
        let bytes: u64 = list.iter().map(|blob| blob.bytes).sum();
        let is_one = list.len() == 1;
        if (is_one || bytes <= READ_MAX_BYTES) && can_be_read(store, &list).await? {
            continue;
        }
        if is_one {
            damaged.extend(list.into_iter().map(|blob| blob.path));
        } else {
            let half = list.split_off(list.len() / 2);
            lists.extend([half, list]);
        }
    }
    Ok(damaged)
}

async fn added(store: &Store, look: &Look) -> Result<Vec<Blob>, WorktreeError> {
    let files: Vec<(String, RepoPath)> = match look.base() {
        Some(base) => {
            let diff = look.call(store, "diff-index");
            let diff = diff.args(["diff-index", "--cached", "--raw", "-z", "--no-renames"]);
            let changes = parse::raw_diff("diff-index", &store.git.ok(diff.arg(base.as_str())).await?)?;
            let there = changes.into_iter().filter(|change| !change.is_deleted());
            let files = there.filter(|change| change.new_mode != parse::GITLINK);
            files.map(|change| (change.new, change.path)).collect()
        }
        None => {
            let entries = status::entries(store, look).await?;
            let files = entries.into_iter().filter(|entry| entry.mode != parse::GITLINK);
            files.map(|entry| (entry.object, entry.path)).collect()
        }
    };
    let size = |path: &RepoPath| {
        path.below(look.root())
            .symlink_metadata()
            .map_or(0, |meta| meta.len())
    };
    let blob = |(object, path): (String, RepoPath)| Blob {
        object,
        bytes: size(&path),
        path,
    };
    Ok(files.into_iter().map(blob).collect())
}

async fn can_be_read(store: &Store, list: &[Blob]) -> Result<bool, WorktreeError> {
    let names: String = list.iter().map(|blob| format!("{}\n", blob.object)).collect();
    let read = store.call("cat-file").args(["cat-file", "--batch"]);
    let answer = match store.git.run(read.stdin(names)).await {
        Ok(answer) => answer,
        Err(GitError::OverCap { .. } | GitError::Failed { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut rest = answer.stdout.as_slice();
    let all = list.iter().all(|_| parse::next_object(&mut rest).is_some());
    Ok(answer.code == 0 && all && rest.is_empty())
}

impl Look {
    /// The commit that a snapshot has as its parent; `None` in a repository without one.
    pub(crate) fn base(&self) -> Option<&Oid> {
        (self.parent.as_str() != self.parent.zero_like()).then_some(&self.parent)
    }
}
