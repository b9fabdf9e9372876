//! Git directories of submodules whose working directory is gone: what was committed there and never published is nowhere else.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::place::{short_name, size_of};
use super::{GIT_DIR_MAX_BYTES, REPOSITORIES_MAX, SavedAll, SavedInside};
use crate::error::WorktreeError;
use crate::fetch::Source;
use crate::gather::{Gathered, gather};
use crate::keys::RunKey;
use crate::lfs;
use crate::path::RepoPath;
use crate::special::Special;
use crate::status::Look;
use crate::store::{self, Store};
use crate::tree::Tree;

/// Gathers from every git directory below the `modules` of these, but for those that were gathered already.
pub(super) async fn save(
    store: &Store,
    tree: &Tree,
    look: &mut Look,
    run: &RunKey,
    gathered: &BTreeSet<PathBuf>,
    saved: &mut SavedAll,
) -> Result<(), WorktreeError> {
    let outer = [tree.path.join(".git")]
        .into_iter()
        .chain(gathered.iter().cloned());
    let mut found: BTreeSet<PathBuf> = outer.flat_map(|dir| git_dirs_below(&dir)).collect();
    found.retain(|dir| !gathered.contains(dir));
    for (at, git_dir) in found.iter().enumerate() {
        let root = tree.path.canonicalize().unwrap_or_else(|_| tree.path.clone());
        let path = git_dir.strip_prefix(&root).unwrap_or(git_dir);
        let path = RepoPath::from_bytes(path.as_os_str().as_bytes());
        let under = store::run_ref(run, &format!("nested/{}/", short_name(&path)));
        let seen = if at >= REPOSITORIES_MAX || size_of(git_dir) > GIT_DIR_MAX_BYTES {
            Gathered::nothing()
        } else {
            gather(store, &Source::at(git_dir.clone()), &under).await?
        };
        if !seen.is_whole() || !lfs::take_objects(store, git_dir).await? {
            look.special.push(Special::NestedRepository(path.clone()));
        }
        saved.inside.push(SavedInside {
            path,
            refs: under.trim_end_matches('/').to_owned(),
            files: None,
        });
    }
    Ok(())
}

/// The git directories below `modules`, those of linked working trees and those inside each other too; no link is followed.
fn git_dirs_below(git_dir: &Path) -> Vec<PathBuf> {
    let git_dir = git_dir.canonicalize().unwrap_or_else(|_| git_dir.to_owned());
    let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let below = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let linked = below(&git_dir.join("worktrees")).into_iter();
    let mut dirs: Vec<PathBuf> = linked.map(|dir| dir.join("modules")).collect();
    dirs.push(git_dir.join("modules"));
    let mut found = Vec::new();
    while let Some(dir) = dirs.pop() {
        if !is_dir(&dir) {
            continue;
        }
        if is_dir(&dir.join("objects")) && dir.join("HEAD").symlink_metadata().is_ok() {
            dirs.push(dir.join("modules"));
            found.push(dir);
        } else {
            dirs.extend(below(&dir));
        }
    }
    found
}
