//! Upkeep of a store: nothing in it ever goes, but what came in thousands of small files is packed from time to time.
//!
//! The store refuses every command that would drop an object. That is lifted while git packs it, and nothing that no ref names is
//! dropped then either: it goes into a pack of its own. Nobody waits for it: trees are made and saved meanwhile.

use std::fs::{self, File};
use std::path::Path;

use crate::Worktrees;
use crate::borders::Border;
use crate::disk;
use crate::error::WorktreeError;
use crate::keys::CodebaseKey;
use crate::runner::COPY_LIMIT;
use crate::store::Store;

/// With more objects in files of their own a store is packed.
const LOOSE_MAX: usize = 2_000;
/// With more packs it is packed into one.
const PACKS_MAX: usize = 20;

/// What the store refuses, as it stands in its configuration, and the same while it is packed.
const REFUSES: &str = "preciousObjects = true";
const LIFTED: &str = "preciousObjects = false";

/// In how many files the objects of a store are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFiles {
    /// Whose store it is.
    pub codebase: CodebaseKey,
    /// Objects in files of their own.
    pub loose: usize,
    /// Packs.
    pub packs: usize,
}

impl StoreFiles {
    /// Whether packing it is worth the time: more than 2,000 loose objects, or 20 packs.
    #[must_use]
    pub const fn are_many(&self) -> bool {
        self.loose > LOOSE_MAX || self.packs > PACKS_MAX
    }
}

/// What became of the packing of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    /// It is packed.
    Done,
    /// Another process packs it at the moment.
    ByAnother,
}

impl Worktrees {
    /// Counts the files of every store.
    ///
    /// # Errors
    /// The stores cannot be listed.
    pub fn store_files(&self) -> Result<Vec<StoreFiles>, WorktreeError> {
        let repos = self.root().join("repos");
        if repos.symlink_metadata().is_err() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&repos).map_err(WorktreeError::io("list", &repos))?;
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut codebases: Vec<CodebaseKey> = names.filter_map(|name| CodebaseKey::new(name).ok()).collect();
        codebases.sort();
        let count = |codebase: CodebaseKey| {
            let objects = self.store(&codebase).dir.join("objects");
            objects.is_dir().then(|| StoreFiles {
                loose: loose(&objects),
                packs: packs(&objects),
                codebase,
            })
        };
        Ok(codebases.into_iter().filter_map(count).collect())
    }

    /// Packs all objects of a store, also those that no ref names. Safe beside everything else, and slow: at most 30 minutes, with
    /// one thread. A crash leaves nothing that the next fetch into the store or the next packing does not mend.
    ///
    /// # Errors
    /// Git or the disk failed; nothing is lost.
    pub async fn pack_store(&self, codebase: &CodebaseKey) -> Result<Packed, WorktreeError> {
        let store = self.store(codebase);
        let Some(_held) = hold(&store)? else {
            return Ok(Packed::ByAnother);
        };
        set(&store, REFUSES, LIFTED)?;
        self.reach(Border::UpkeepBegun);
        let repack = store.call("repack").limit(COPY_LIMIT);
        let repack = repack
            .setting("repack.writeBitmaps=false")
            .setting("pack.threads=1");
        let packed = store
            .git
            .ok(repack.args(["repack", "-d", "--cruft", "--quiet"]))
            .await;
        self.reach(Border::UpkeepPacked);
        set(&store, LIFTED, REFUSES)?;
        packed?;
        Ok(Packed::Done)
    }
}

/// Lets the store refuse again what a packing that was cut off has lifted.
pub(crate) fn mend(store: &Store) -> Result<(), WorktreeError> {
    let config = store.dir.join("config");
    let is_lifted = fs::read_to_string(&config).is_ok_and(|text| text.contains(LIFTED));
    if !is_lifted {
        return Ok(());
    }
    match hold(store)? {
        Some(_held) => set(store, LIFTED, REFUSES),
        None => Ok(()),
    }
}

/// Holds the upkeep of a store, until the file is dropped or the process ends; `None` when another does.
fn hold(store: &Store) -> Result<Option<File>, WorktreeError> {
    let place = store.dir.with_file_name("upkeep.lock");
    let options = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&place);
    let file = options.map_err(WorktreeError::io("open", &place))?;
    Ok(file.try_lock().is_ok().then_some(file))
}

fn set(store: &Store, from: &str, to: &str) -> Result<(), WorktreeError> {
    let config = store.dir.join("config");
    let text = fs::read_to_string(&config).map_err(WorktreeError::io("read", &config))?;
    disk::write_atomically(&config, text.replace(from, to).as_bytes())
}

fn loose(objects: &Path) -> usize {
    let is_fan_out = |name: &[u8]| name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
    let dirs = fs::read_dir(objects).into_iter().flatten().flatten();
    let fans = dirs.filter(|entry| is_fan_out(entry.file_name().as_encoded_bytes()));
    fans.map(|fan| fs::read_dir(fan.path()).into_iter().flatten().count())
        .sum()
}

fn packs(objects: &Path) -> usize {
    let files = fs::read_dir(objects.join("pack")).into_iter().flatten().flatten();
    files
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "pack"))
        .count()
}
