//! Objects of a landing that is being planned, apart from the store until there is something to keep.
//!
//! A merge makes an object for each directory that it changes. To bring each of them to the disk by itself takes many times as long
//! as the merge; so they are made beside the store, brought to the disk all at once, and moved in. What a power cut leaves of them
//! is swept, and never stands in the store under the name of a content that it has not.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::WorktreeError;
use crate::objects::quoted;
use crate::store::Store;
use crate::walk;

/// A directory for new objects of a store.
#[derive(Debug)]
pub(super) struct Quarantine {
    dir: TempDir,
    store: Store,
}

impl Quarantine {
    /// The caller holds the lock of the codebase for as long as this lives.
    pub(super) fn new(store: &Store) -> Result<Self, WorktreeError> {
        let dir = store.temp_dir()?;
        let info = dir.path().join("info");
        fs::create_dir(&info).map_err(WorktreeError::io("make", &info))?;
        let mut line = quoted(&store.dir.join("objects"));
        line.push("\n");
        let alternates = info.join("alternates");
        fs::write(&alternates, line.as_encoded_bytes()).map_err(WorktreeError::io("write", &alternates))?;
        Ok(Self {
            dir,
            store: store.clone(),
        })
    }

    /// The store, with everything new going here.
    pub(super) fn apart(&self) -> Store {
        Store {
            quarantine: Some(self.dir.path().to_owned()),
            ..self.store.clone()
        }
    }

    /// Brings what is here to the disk, and into the store.
    pub(super) async fn release(&self) -> Result<(), WorktreeError> {
        let (from, to) = (self.dir.path().to_owned(), self.store.dir.join("objects"));
        walk::in_background(from.clone(), move || {
            let objects = objects_in(&from)?;
            if objects.is_empty() {
                return Ok(());
            }
            sync(&from).map_err(WorktreeError::io("write", &from))?;
            for name in objects {
                let place = to.join(&name);
                if place.symlink_metadata().is_ok() {
                    continue;
                }
                let parent = place.parent().unwrap_or(&to);
                fs::create_dir_all(parent).map_err(WorktreeError::io("make", parent))?;
                fs::rename(from.join(&name), &place).map_err(WorktreeError::io("make", &place))?;
            }
            Ok(())
        })
        .await
    }
}

/// The files of objects, from here: an object before what could point to it, as far as names tell.
fn objects_in(dir: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
    let list = |dir: &Path| -> Result<Vec<PathBuf>, WorktreeError> {
        let entries = fs::read_dir(dir).map_err(WorktreeError::io("list", dir))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let mut found = Vec::new();
    for inner in list(dir)? {
        let name = inner.file_name().unwrap_or_default().to_os_string();
        let is_objects = name.len() == 2 || name == "pack";
        if !is_objects || !inner.is_dir() {
            continue;
        }
        for file in list(&inner)? {
            found.push(Path::new(&name).join(file.file_name().unwrap_or_default()));
        }
    }
    // Git looks for packs by their indexes: those come last.
    found.sort_by_key(|name| name.extension().is_some_and(|end| end == "idx"));
    Ok(found)
}

#[cfg(target_os = "linux")]
fn sync(dir: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(dir)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync(dir: &Path) -> std::io::Result<()> {
    for name in objects_in(dir).map_err(std::io::Error::other)? {
        File::open(dir.join(name))?.sync_all()?;
    }
    Ok(())
}
