//! Removing a tree: a rename to the trash, and only with the proof that nothing is lost. Deleting is a second act.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::Worktrees;
use crate::disk;
use crate::error::WorktreeError;
use crate::procs;
use crate::tree::{Tree, TreeSpec};
use crate::walk;

/// Trees of one card in the trash, at most.
const TRASHED_MAX: u32 = 10_000;
/// Written into a trashed directory; its age is the age of the trash.
const MARK: &str = "discarded.json";

/// Proof that a tree was salvaged whole, and of the state it was in. Only a salvage makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscardProof {
    tree: Tree,
    fingerprint: String,
}

impl DiscardProof {
    pub(crate) fn new(tree: &Tree, fingerprint: String) -> Self {
        Self {
            tree: tree.clone(),
            fingerprint,
        }
    }
}

/// What [`Worktrees::empty_trash`] did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Emptied {
    /// Directories deleted.
    pub deleted: usize,
    /// Directories that are not old enough.
    pub young: usize,
    /// Directories that could not be deleted, or hold something that must not be: a mount, or no mark of ours.
    pub kept: Vec<PathBuf>,
}

impl Worktrees {
    /// Moves a tree to the trash, in one rename, and gives its new place.
    ///
    /// # Errors
    /// [`WorktreeError::TreeChanged`]: something in it changed since the salvage. [`WorktreeError::TreeInUse`].
    /// [`WorktreeError::NotOurTree`], [`WorktreeError::CodebaseBusy`], or the disk failed.
    pub async fn discard(&self, proof: &DiscardProof) -> Result<PathBuf, WorktreeError> {
        let spec = &proof.tree.spec;
        let _lock = self.lock(&spec.codebase).await?;
        let found = self.find_tree(spec)?;
        if found.as_ref() != Some(&proof.tree) {
            return Err(WorktreeError::NotOurTree {
                path: self.tree_dir(spec),
            });
        }
        if procs::works_in(&proof.tree.path) {
            return Err(WorktreeError::TreeInUse);
        }
        if walk::fingerprint(&proof.tree.path).await? != proof.fingerprint {
            return Err(WorktreeError::TreeChanged);
        }
        self.trash(spec)
    }

    fn trash(&self, spec: &TreeSpec) -> Result<PathBuf, WorktreeError> {
        let trash = self.root().join("trash");
        fs::create_dir_all(&trash).map_err(WorktreeError::io("make", &trash))?;
        let dir = self.tree_dir(spec);
        let name = |n| trash.join(format!("{}-{}-{n}", spec.card, spec.codebase));
        let place = (1..=TRASHED_MAX)
            .map(name)
            .find(|place| place.symlink_metadata().is_err());
        let place = place.ok_or_else(|| WorktreeError::Corrupt {
            what: "the trash is full".into(),
        })?;
        disk::write_json(&dir.join(MARK), spec)?;
        fs::rename(&dir, &place).map_err(WorktreeError::io("move to the trash", &dir))?;
        Ok(place)
    }

    /// Deletes trashed trees that were discarded at least `age` before `now`. Follows no link and crosses no mount.
    ///
    /// Slow where deleting files is slow: call it in the background.
    ///
    /// # Errors
    /// The trash cannot be listed. A tree that cannot be deleted is no error: it is named in the result.
    pub async fn empty_trash(&self, age: Duration, now: SystemTime) -> Result<Emptied, WorktreeError> {
        let trash = self.root().join("trash");
        walk::in_background(trash.clone(), move || {
            let mut emptied = Emptied::default();
            if trash.symlink_metadata().is_err() {
                return Ok(emptied);
            }
            let entries = fs::read_dir(&trash).map_err(WorktreeError::io("list", &trash))?;
            for dir in entries.flatten().map(|entry| entry.path()) {
                match old_enough(&dir, age, now) {
                    Some(false) => emptied.young += 1,
                    Some(true) if delete(&dir) => emptied.deleted += 1,
                    Some(true) | None => emptied.kept.push(dir),
                }
            }
            Ok(emptied)
        })
        .await
    }
}

/// `None` when the directory has no mark of ours.
fn old_enough(dir: &Path, age: Duration, now: SystemTime) -> Option<bool> {
    let mark = dir.join(MARK).symlink_metadata().ok()?;
    let discarded = mark.is_file().then(|| mark.modified().ok()).flatten()?;
    Some(now.duration_since(discarded).is_ok_and(|since| since >= age))
}

/// Looks for mounts first, opens read-only directories, then deletes. `remove_dir_all` follows no link.
fn delete(dir: &Path) -> bool {
    let Ok(root) = dir.symlink_metadata() else {
        return false;
    };
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        let Ok(meta) = next.symlink_metadata() else {
            continue;
        };
        if !meta.is_dir() || meta.dev() != root.dev() {
            return false;
        }
        if meta.mode() & 0o700 != 0o700 {
            let opened = fs::set_permissions(&next, fs::Permissions::from_mode(meta.mode() | 0o700));
            if opened.is_err() {
                return false;
            }
        }
        let Ok(entries) = fs::read_dir(&next) else {
            return false;
        };
        for entry in entries.flatten() {
            let Ok(meta) = entry.metadata() else { return false };
            if meta.dev() != root.dev() {
                return false;
            }
            if meta.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    fs::remove_dir_all(dir).is_ok()
}
