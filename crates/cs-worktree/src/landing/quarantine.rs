//! Objects of a landing that is being planned, apart from the store until there is something to keep.
//!
//! A merge makes an object for each directory that it changes. To bring each of them to the disk by itself takes many times as long
//! as the merge; so they are made beside the store, never brought to the disk, and come into the store as one pack that is. What a
//! crash leaves of them is swept, and never stands in the store under the name of a content that it has not.
//!
//! The directory stays, with those that git makes in it for the beginnings of names: on some disks it takes longer to remove them than
//! to merge.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::objects::quoted;
use crate::runner::COPY_LIMIT;
use crate::store::Store;

/// A directory for new objects of a store; what is in it goes with this.
#[derive(Debug)]
pub(super) struct Quarantine {
    dir: PathBuf,
    store: Store,
}

impl Quarantine {
    /// The caller holds the lock of the codebase for as long as this lives.
    pub(super) fn new(store: &Store) -> Result<Self, WorktreeError> {
        let quarantine = Self {
            dir: store.dir.with_file_name("quarantine"),
            store: store.clone(),
        };
        let alternates = quarantine.alternates();
        // It is there while somebody works here: a crash has left it, and perhaps more.
        if alternates.symlink_metadata().is_ok() {
            quarantine.clear()?;
        }
        let info = quarantine.dir.join("info");
        fs::create_dir_all(&info).map_err(WorktreeError::io("make", &info))?;
        let mut line = quoted(&store.dir.join("objects"));
        line.push("\n");
        fs::write(&alternates, line.as_encoded_bytes()).map_err(WorktreeError::io("write", &alternates))?;
        Ok(quarantine)
    }

    /// The store, with everything new going here.
    pub(super) fn apart(&self) -> Store {
        Store {
            quarantine: Some(self.dir.clone()),
            ..self.store.clone()
        }
    }

    fn alternates(&self) -> PathBuf {
        self.dir.join("info/alternates")
    }

    /// Removes the objects, not the directories; last the sign that somebody works here.
    fn clear(&self) -> Result<(), WorktreeError> {
        let list = |dir: &Path| fs::read_dir(dir).map_err(WorktreeError::io("list", dir));
        let remove = |file: &Path| fs::remove_file(file).map_err(WorktreeError::io("remove", file));
        for inner in list(&self.dir)?.flatten() {
            if inner.file_name() != "info" {
                for object in list(&inner.path())?.flatten() {
                    remove(&object.path())?;
                }
            }
        }
        remove(&self.alternates())
    }

    /// Brings into the store, and to the disk, as one pack, what `new` has and the other commits have not.
    pub(super) async fn release(&self, new: &Oid, but: &[&Oid]) -> Result<(), WorktreeError> {
        let pack = self
            .store
            .call("pack-objects")
            .objects(&self.dir)
            .setting("pack.writeReverseIndex=false")
            .limit(COPY_LIMIT);
        let pack = pack.args(["pack-objects", "-q", "--revs", "--window=0", "--threads=1"]);
        let pack = pack
            .arg("--compression=1")
            .arg(self.store.dir.join("objects/pack").join(pack_prefix(new)));
        let but: String = but.iter().map(|commit| format!("^{commit}\n")).collect();
        self.store.git.ok(pack.stdin(format!("{new}\n{but}"))).await?;
        Ok(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        // What was not yet written to the disk is soon removed.
        if let Err(error) = self.clear() {
            tracing::debug!(%error, "what was made for a plan stays for now");
        }
    }
}

/// How the name of the pack begins that brought a commit into the store.
pub(super) fn pack_prefix(new: &Oid) -> String {
    format!("pack-{new}")
}
