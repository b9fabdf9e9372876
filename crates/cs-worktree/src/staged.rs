//! What an agent has staged and has in no file any more: it is only in the index, and in the objects of the tree.
//!
//! It becomes a commit of its own, with the whole index as its tree, on `run/<run>/index/<n>`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse;
use crate::path::RepoPath;
use crate::runner::COPY_LIMIT;
use crate::salvage;
use crate::special::Special;
use crate::status::{self, Look};
use crate::store::Store;

/// Saves what is staged and is neither committed nor in the snapshot, which the look's index holds by now, and gives the ref.
///
/// `objects` is where the repository has its objects, and the ref is made below `under`. What cannot be saved is named. An index
/// with conflicts is left: it keeps the tree.
pub(crate) async fn save(
    store: &Store,
    look: &mut Look,
    objects: &Path,
    under: &str,
) -> Result<Option<String>, WorktreeError> {
    if look.staged.is_empty() || look.special.contains(&Special::Unmerged) {
        return Ok(None);
    }
    let snapshot = status::entries(store, look).await?;
    let saved: BTreeSet<&str> = snapshot.iter().map(|entry| entry.object.as_str()).collect();
    let only_staged = look.staged.iter().filter(|e| !saved.contains(e.object.as_str()));
    let (names, paths): (Vec<String>, Vec<RepoPath>) = only_staged
        .map(|entry| (format!("{}\n", entry.object), entry.path.clone()))
        .unzip();
    if names.is_empty() {
        return Ok(None);
    }
    if !bring_blobs(store, objects, names.concat()).await? {
        look.special.extend(paths.into_iter().map(Special::NotSaved));
        return Ok(None);
    }
    let write = store.call("write-tree").index(&look.own_index());
    let written = store.git.run(write.arg("write-tree")).await?;
    if written.code != 0 {
        look.special.push(Special::IndexUnreadable);
        return Ok(None);
    }
    let tree = parse::oid("write-tree", &written.stdout)?;
    let commit = commit(store, look, &tree).await?;
    let (reference, _) = salvage::keep(store, under, &commit, look.base()).await?;
    Ok(Some(reference))
}

/// Packs blobs that only a repository of an agent has into the store; says whether all were there.
async fn bring_blobs(store: &Store, objects: &Path, names: String) -> Result<bool, WorktreeError> {
    // A path that is only announced has the empty blob, which git writes nowhere.
    let empty = store.call("hash-object").args(["hash-object", "-w", "--stdin"]);
    store.git.ok(empty).await?;
    let pack = store
        .call("pack-objects")
        .borrow_objects(objects)
        .limit(COPY_LIMIT);
    let pack = pack
        .args(["pack-objects", "--quiet"])
        .arg(store.dir.join("objects/pack/pack"));
    Ok(store.git.run(pack.stdin(names)).await?.code == 0)
}

async fn commit(store: &Store, look: &Look, tree: &Oid) -> Result<Oid, WorktreeError> {
    let mut commit = store.call("commit-tree").args(["commit-tree", tree.as_str()]);
    if let Some(base) = look.base() {
        commit = commit.args(["-p", base.as_str()]);
    }
    let made = store.git.ok(commit.stdin("salvage: the index\n")).await?;
    Ok(parse::oid("commit-tree", &made)?)
}
