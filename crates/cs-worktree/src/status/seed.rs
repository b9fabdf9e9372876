//! What a tree's files looked like when we last compared them, so that only changed ones are read again.
//!
//! It is an index of ours, beside the store and never inside the tree: the agent's own may say that a changed file is unchanged.
//! Git compares a file whose time is not older than the index again, so the file's time goes with each copy.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::keys::CardKey;
use crate::store::Store;

fn place(store: &Store, card: &CardKey) -> PathBuf {
    store.dir.with_file_name("index").join(card.as_str())
}

/// Brings the index of the last look to `to`, where there is one. Without it the next look reads every file.
pub(super) fn take(store: &Store, card: &CardKey, to: &Path) {
    if let Err(error) = copy(&place(store, card), to) {
        tracing::debug!(%error, "no index of an earlier look");
        drop(fs::remove_file(to));
    }
}

/// Keeps the index of this look, or that of a checkout that nobody has written to yet.
pub(crate) fn keep(store: &Store, card: &CardKey, from: &Path) {
    let kept = place(store, card);
    let new = kept.with_extension("new");
    let make = || fs::create_dir_all(kept.parent().unwrap_or(Path::new("/")));
    let kept = make()
        .and_then(|()| copy(from, &new))
        .and_then(|()| fs::rename(&new, &kept));
    if let Err(error) = kept {
        tracing::debug!(%error, "the index of this look is not kept");
    }
}

/// Drops an index that git cannot read, or that of a tree that is gone.
pub(crate) fn forget(store: &Store, card: &CardKey) {
    drop(fs::remove_file(place(store, card)));
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let written = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(written)
}
