//! The commits of a landing on their way from the store to the user's repository.

use std::fs;
use std::path::PathBuf;

use bstr::ByteSlice;

use super::{Held, Move, quarantine};
use crate::collect;
use crate::error::WorktreeError;
use crate::plain;
use crate::store::{self, Store};
use crate::walk;

/// A larger pack is fetched.
const PACK_MAX_BYTES: u64 = 16 << 20;

/// Keeps a pack of the user's repository, which nothing names yet, from whoever cleans up there, until it is dropped.
#[derive(Debug)]
pub(super) struct Keep(Option<PathBuf>);

impl Drop for Keep {
    fn drop(&mut self) {
        let Some(file) = &self.0 else { return };
        if let Err(error) = fs::remove_file(file) {
            tracing::warn!(file = %file.display(), %error, "a pack stays marked as one to keep");
        }
    }
}

/// Brings the commits that land, and nothing else, into the user's repository, on the disk. Their base is there, so all else is, as
/// long as what the card committed is.
///
/// A fetch would start six processes, and look for what is missing; it is for what was packed otherwise, and for whatever goes wrong.
pub(super) async fn bring(
    store: &Store,
    landing: &Move,
    beside: Option<&Held>,
) -> Result<Keep, WorktreeError> {
    if landing.held.is_some()
        && landing.held.as_deref() == beside
        && let Some(pack) = packed(store, landing).await?
    {
        let take = landing.repository.call("index-pack");
        let take = take.args(["index-pack", "--stdin", "--no-rev-index"]);
        let take = take.arg(format!("--keep={}", mark(landing))).stdin(pack);
        let answer = store.git.run(take).await?;
        if answer.code == 0 {
            let name = answer.stdout.trim_ascii().strip_prefix(b"keep\t");
            let file = name.map(|name| format!("pack-{}.keep", name.to_str_lossy()));
            return Ok(Keep(file.map(|file| packs_of_user(landing).join(file))));
        }
        tracing::debug!(error = %answer.into_error("index-pack"), "the commits are fetched instead");
    }
    let refspec = format!("+{}:{}", landing.new, store::land_ref(&landing.landing));
    collect::fetch_into(&store.git, &landing.repository, store, &refspec).await?;
    Ok(Keep(None))
}

/// Lets go of what a crash left marked as to be kept.
pub(super) fn let_go(landing: &Move) {
    let marked = format!("{}\n", mark(landing));
    for entry in fs::read_dir(packs_of_user(landing))
        .into_iter()
        .flatten()
        .flatten()
    {
        let file = entry.path();
        let is_keep = file.extension().is_some_and(|end| end == "keep");
        if is_keep && plain::read(&file, marked.len() as u64).is_ok_and(|text| text == marked.as_bytes()) {
            drop(Keep(Some(file)));
        }
    }
}

fn mark(landing: &Move) -> String {
    format!("cs-panel: landing {}", landing.landing)
}

fn packs_of_user(landing: &Move) -> PathBuf {
    landing.repository.common_dir.join("objects/pack")
}

/// The pack that the plan made, where it is still there.
async fn packed(store: &Store, landing: &Move) -> Result<Option<Vec<u8>>, WorktreeError> {
    let dir = store.dir.join("objects/pack");
    let prefix = quarantine::pack_prefix(&landing.new);
    walk::in_background(dir.clone(), move || {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let file = entry.path();
            let is_it = entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(prefix.as_bytes())
                && file.extension().is_some_and(|end| end == "pack");
            if is_it && entry.metadata().is_ok_and(|meta| meta.len() <= PACK_MAX_BYTES) {
                return Ok(fs::read(&file).ok());
            }
        }
        Ok(None)
    })
    .await
}
