//! What a salvage found and did, written beside the store for people and for later looks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::WorktreeError;
use crate::ignored::Hidden;
use crate::inside::SavedInside;
use crate::keys::{CardKey, Oid, RunKey};
use crate::path::RepoPath;
use crate::salvage::Completeness;
use crate::status::StatusEntry;
use crate::store::Store;

pub(crate) const VERSION: u32 = 2;

/// One salvage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    pub(crate) card: CardKey,
    pub(crate) run: RunKey,
    pub(crate) reason: String,
    pub(crate) reference: Option<String>,
    pub(crate) commit: Option<Oid>,
    pub(crate) parent: Oid,
    pub(crate) files: Vec<StatusEntry>,
    /// Repositories inside the tree.
    pub(crate) inside: Vec<SavedInside>,
    /// The ref with the whole index, where something was staged and in no file.
    #[serde(default)]
    pub(crate) index: Option<String>,
    pub(crate) completeness: Completeness,
    /// Ignored files and directories, the first hundred. They stay in the tree and in the trash.
    pub(crate) ignored: Vec<RepoPath>,
    pub(crate) ignored_count: usize,
    /// There are more ignored files than can be listed; then none is.
    #[serde(default)]
    pub(crate) ignored_cut: bool,
    /// What only rules of the agent ignore.
    #[serde(default)]
    pub(crate) hidden: Hidden,
}

impl Manifest {
    /// Writes it and gives its place: one file for each snapshot of a run, and one for when there was nothing to save.
    pub(crate) fn write(&self, store: &Store) -> Result<PathBuf, WorktreeError> {
        let number = self.reference.as_deref().map_or("0", number_of);
        let place = place(store, &self.run, number);
        disk::write_json(&place, self)?;
        Ok(place)
    }

    /// Reads the manifest of a snapshot; `None` when it was not written or cannot be read.
    pub(crate) fn read(store: &Store, run: &RunKey, number: &str) -> Option<Self> {
        let text = std::fs::read(place(store, run, number)).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// Removes all manifests of a run.
pub(crate) fn forget(store: &Store, run: &RunKey) -> Result<(), WorktreeError> {
    let dir = dir(store, run);
    match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorktreeError::io("remove", &dir)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn dir(store: &Store, run: &RunKey) -> PathBuf {
    store.dir.with_file_name("salvage").join(run.as_str())
}

fn place(store: &Store, run: &RunKey, number: &str) -> PathBuf {
    dir(store, run).join(format!("{number}.json"))
}

/// The last part of a snapshot's ref.
fn number_of(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or("0")
}
