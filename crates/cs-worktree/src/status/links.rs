//! Links to commits: submodules, and what stands in their places.

use std::collections::BTreeSet;
use std::fs;

use crate::error::WorktreeError;
use crate::parse::{GITLINK, IndexEntry};
use crate::path::RepoPath;
use crate::special::Special;
use crate::status::Look;
use crate::store::Store;

/// Tells submodules from other repositories in the tree.
pub(super) fn name(look: &mut Look, committed: &[IndexEntry]) {
    let links = committed.iter().filter(|entry| entry.mode == GITLINK);
    let links: BTreeSet<&RepoPath> = links.map(|entry| &entry.path).collect();
    for path in &look.repositories {
        let is_link = links.contains(path);
        let path = path.clone();
        look.special.push(if is_link {
            Special::Submodule(path)
        } else {
            Special::NestedRepository(path)
        });
    }
}

/// Takes links to commits out of the temporary index where files stand in their place without a repository: git looks into no
/// such directory, whatever it holds.
pub(super) async fn open(store: &Store, look: &Look, committed: &[IndexEntry]) -> Result<(), WorktreeError> {
    let mut names = Vec::new();
    for link in committed.iter().filter(|entry| entry.mode == GITLINK) {
        let holds =
            fs::read_dir(link.path.below(&look.root)).is_ok_and(|mut entries| entries.next().is_some());
        let is_link = link.path.below(&look.root).is_symlink();
        if holds && !is_link && !look.hides(&link.path, false) {
            names.extend_from_slice(link.path.as_bytes());
            names.push(0);
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    let remove = look
        .call(store, "update-index")
        .args(["update-index", "--force-remove", "-z", "--stdin"]);
    store.git.ok(remove.stdin(names)).await?;
    Ok(())
}
