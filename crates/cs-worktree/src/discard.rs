//! Removing a tree: a rename to the trash, and only with the proof that nothing is lost. Deleting is a second act.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::borders::{Border, Borders};
use crate::disk;
use crate::error::WorktreeError;
use crate::keys::RunKey;
use crate::manifest::Manifest;
use crate::procs;
use crate::removal;
use crate::status::seed;
use crate::tree::{Tree, TreeSpec};
use crate::walk;

/// Trees of one card in the trash, at most.
const TRASHED_MAX: u32 = 10_000;
/// Written into a trashed directory; its age is the age of the trash.
pub(crate) const MARK: &str = "discarded.json";
/// Begins the name of a directory that is being deleted.
const GOING: &str = ".going-";

/// Proof that a tree was salvaged whole, and of the state it was in. Only a salvage makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscardProof {
    tree: Tree,
    fingerprint: String,
    mark: Mark,
}

/// What is written into a trashed directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    version: u32,
    spec: TreeSpec,
    reason: String,
    run: RunKey,
    /// The snapshot of what was uncommitted, where there was any.
    reference: Option<String>,
}

impl DiscardProof {
    pub(crate) fn new(tree: &Tree, fingerprint: String, manifest: &Manifest) -> Self {
        Self {
            tree: tree.clone(),
            fingerprint,
            mark: Mark {
                version: 2,
                spec: tree.spec.clone(),
                reason: manifest.reason.clone(),
                run: manifest.run.clone(),
                reference: manifest.reference.clone(),
            },
        }
    }
}

/// A tree in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trashed {
    /// Its directory; the files are in `work` below it.
    pub path: PathBuf,
    /// Whose tree it was.
    pub spec: TreeSpec,
    /// Why it went there.
    pub reason: String,
    /// When.
    pub at: SystemTime,
    /// The snapshot of what was uncommitted, where there was any.
    pub reference: Option<String>,
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
        // What stands beside the files goes with them.
        if let Some((pid, program)) = procs::works_in(&self.tree_dir(spec)) {
            return Err(WorktreeError::TreeInUse { pid, program });
        }
        if !walk::beside(&proof.tree.path).is_empty() {
            return Err(WorktreeError::TreeChanged);
        }
        if walk::fingerprint(&proof.tree.path).await? != proof.fingerprint {
            return Err(WorktreeError::TreeChanged);
        }
        self.to_trash(&proof.mark)
    }

    fn to_trash(&self, mark: &Mark) -> Result<PathBuf, WorktreeError> {
        let spec = &mark.spec;
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
        disk::write_json(&dir.join(MARK), mark)?;
        self.reach(Border::TreeMarked);
        fs::rename(&dir, &place).map_err(WorktreeError::io("move to the trash", &dir))?;
        self.reach(Border::TreeTrashed);
        seed::forget(&self.store(&spec.codebase), &spec.card);
        Ok(place)
    }

    /// Lists the trees in the trash, the oldest first.
    ///
    /// # Errors
    /// The trash cannot be listed.
    pub fn trashed(&self) -> Result<Vec<Trashed>, WorktreeError> {
        let trash = self.root().join("trash");
        if trash.symlink_metadata().is_err() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&trash).map_err(WorktreeError::io("list", &trash))?;
        let mut found: Vec<Trashed> = entries.flatten().filter_map(|e| trashed(&e.path())).collect();
        found.sort_by(|a, b| (a.at, &a.path).cmp(&(b.at, &b.path)));
        Ok(found)
    }

    /// Puts a trashed tree back in its place, with everything that was in it.
    ///
    /// # Errors
    /// [`WorktreeError::NotOurTree`]: the card has another tree, or this is nothing that was trashed.
    /// [`WorktreeError::CodebaseBusy`], or the disk failed.
    pub async fn restore_trashed(&self, trashed_tree: &Trashed) -> Result<Tree, WorktreeError> {
        let spec = &trashed_tree.spec;
        let _lock = self.lock(&spec.codebase).await?;
        let dir = self.tree_dir(spec);
        let taken = || WorktreeError::NotOurTree { path: dir.clone() };
        let is_it = trashed(&trashed_tree.path).as_ref() == Some(trashed_tree);
        if !is_it || trashed_tree.path.parent() != Some(self.root().join("trash").as_path()) {
            return Err(WorktreeError::NotOurTree {
                path: trashed_tree.path.clone(),
            });
        }
        if dir.symlink_metadata().is_ok() {
            return Err(taken());
        }
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(WorktreeError::io("make", parent))?;
        }
        fs::rename(&trashed_tree.path, &dir).map_err(WorktreeError::io("put back", &dir))?;
        self.reach(Border::TreePutBack);
        unmark(&dir)?;
        self.find_tree(spec)?.ok_or_else(taken)
    }

    /// Deletes trashed trees that were discarded at least `age` before `now`. Follows no link and crosses no mount.
    ///
    /// Slow where deleting files is slow: call it in the background.
    ///
    /// # Errors
    /// The trash cannot be listed. A tree that cannot be deleted is no error: it is named in the result.
    pub async fn empty_trash(&self, age: Duration, now: SystemTime) -> Result<Emptied, WorktreeError> {
        let trash = self.root().join("trash");
        let borders = self.borders();
        walk::in_background(trash.clone(), move || {
            let mut emptied = Emptied::default();
            if trash.symlink_metadata().is_err() {
                return Ok(emptied);
            }
            let entries = fs::read_dir(&trash).map_err(WorktreeError::io("list", &trash))?;
            for dir in entries.flatten().map(|entry| entry.path()) {
                match old_enough(&dir, age, now) {
                    Some(false) => emptied.young += 1,
                    Some(true) => match delete(&dir, borders) {
                        Ok(()) => emptied.deleted += 1,
                        Err(kept) => emptied.kept.push(kept),
                    },
                    None => emptied.kept.push(dir),
                }
            }
            Ok(emptied)
        })
        .await
    }
}

/// Removes the mark of a tree that is in its place: a way there or back was cut off.
pub(crate) fn unmark(dir: &Path) -> Result<(), WorktreeError> {
    let mark = dir.join(MARK);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WorktreeError::io("remove", &mark)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// `None` when the directory has no mark of ours.
fn old_enough(dir: &Path, age: Duration, now: SystemTime) -> Option<bool> {
    if is_going(dir) {
        return Some(true);
    }
    let mark = dir.join(MARK).symlink_metadata().ok()?;
    let discarded = mark.is_file().then(|| mark.modified().ok()).flatten()?;
    Some(now.duration_since(discarded).is_ok_and(|since| since >= age))
}

/// Reads what a directory in the trash is; `None` when it has no mark of ours.
fn trashed(dir: &Path) -> Option<Trashed> {
    let file = dir.join(MARK);
    let meta = file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    let text = fs::read(&file).ok()?;
    let at = meta.modified().ok()?;
    let path = dir.to_owned();
    if let Ok(mark) = serde_json::from_slice::<Mark>(&text) {
        return Some(Trashed {
            path,
            spec: mark.spec,
            reason: mark.reason,
            at,
            reference: mark.reference,
        });
    }
    // Before marks had a reason they were the tree's description alone.
    Some(Trashed {
        path,
        spec: serde_json::from_slice(&text).ok()?,
        reason: String::new(),
        at,
        reference: None,
    })
}

/// Deletes a directory that is not kept in the trash, in which it gets a name first by which [`Worktrees::empty_trash`] finishes a
/// deletion that is cut off, or that fails here.
pub(crate) fn throw_away(dir: &Path, trash: &Path, borders: Borders) -> Result<(), WorktreeError> {
    let named = |n| {
        let mut name = std::ffi::OsString::from(GOING);
        name.push(dir.file_name().unwrap_or_default());
        name.push(format!(".{n}"));
        trash.join(name)
    };
    let free = (1..=TRASHED_MAX)
        .map(named)
        .find(|place| place.symlink_metadata().is_err());
    let going = free.ok_or_else(|| WorktreeError::Corrupt {
        what: "the trash is full".into(),
    })?;
    match fs::rename(dir, &going) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed.map_err(WorktreeError::io("move to the trash", dir))?,
    }
    if !removal::delete(&going, borders) {
        tracing::warn!(dir = %going.display(), "what was thrown away is deleted later");
    }
    Ok(())
}

fn is_going(dir: &Path) -> bool {
    let name = dir.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(GOING.as_bytes())
}

/// Deletes a trashed directory, or gives the place where it stays. It gets another name first: a deletion that is cut off
/// may have taken its mark, and is finished by the next one.
fn delete(dir: &Path, borders: Borders) -> Result<(), PathBuf> {
    let mut going = dir.to_owned();
    if !is_going(dir) {
        let mut name = std::ffi::OsString::from(GOING);
        name.push(dir.file_name().unwrap_or_default());
        going.set_file_name(name);
        if going.symlink_metadata().is_ok() || fs::rename(dir, &going).is_err() {
            return Err(dir.to_owned());
        }
    }
    if removal::delete(&going, borders) {
        return Ok(());
    }
    Err(going)
}
