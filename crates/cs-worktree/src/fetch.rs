//! Reading the repository of a tree: a fetch into the store, which runs nothing of the tree's configuration.
//!
//! There is one exception. A tree that says that it lacks objects and where they are to be had (a partial clone) makes
//! some versions of git run the program that its configuration names. Our clones are never partial, so such a tree is
//! not fetched from at all: its files are saved, and it is kept.

use std::fs;

use bstr::ByteSlice;

use crate::error::WorktreeError;
use crate::runner::Git;
use crate::store::Store;
use crate::tree::Tree;

/// The first version of git whose serving side never fetches missing objects by itself.
const NEVER_LAZY: (u32, u32) = (2, 45);

/// Fetches refspecs from a tree into the store; says whether it worked.
///
/// A tree that is not safe to fetch from is not asked.
pub(crate) async fn fetch_from_tree(
    store: &Store,
    tree: &Tree,
    refspecs: &[&str],
) -> Result<bool, WorktreeError> {
    if !is_safe(&store.git, tree) {
        return Ok(false);
    }
    // Objects that git's checks find fault with are taken all the same, at the second try: they are somebody's work.
    for checked in [true, false] {
        let fetch = store
            .call("fetch")
            .setting(&format!("transfer.fsckObjects={checked}"));
        let fetch = fetch.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ]);
        let fetch = fetch.arg(tree.path.join(".git")).args(refspecs);
        let answer = store.git.run(fetch).await?;
        if answer.code == 0 {
            return Ok(true);
        }
        tracing::debug!(error = %answer.into_error("fetch"), checked, "the tree could not be fetched from");
    }
    Ok(false)
}

/// Whether the tree has a git directory of its own that does not make git fetch from elsewhere.
pub(crate) fn is_safe(git: &Git, tree: &Tree) -> bool {
    let git_dir = tree.path.join(".git");
    if !git_dir.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        return false;
    }
    let suspicious = |file: &str| {
        let text = fs::read(git_dir.join(file))
            .unwrap_or_default()
            .to_ascii_lowercase();
        let hidden = git.version() < NEVER_LAZY && text.contains_str("[include");
        hidden || text.contains_str("promisor") || text.contains_str("partialclone")
    };
    let found = ["config", "config.worktree"].into_iter().any(suspicious);
    if found {
        tracing::warn!(tree = %tree.path.display(), "the tree is a partial clone; it is not fetched from");
    }
    !found
}
