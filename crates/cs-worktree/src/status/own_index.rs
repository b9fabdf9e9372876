//! A copy of a repository's own index, which is data to us.
//!
//! An index may be split: then most of it is in a second file beside it, which git looks for beside the copy too.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::WorktreeError;
use crate::parse::{self, GITLINK, IndexEntry};
use crate::special::Special;
use crate::status::Look;
use crate::store::Store;

/// The second file of a split index has this name and a digest.
const SHARED: &[u8] = b"sharedindex.";
/// Such files that are copied: git removes those that no index uses any more after two weeks.
const SHARED_MAX: usize = 64;

/// Reads a copy of the repository's own index: its conflicts, the files that a sparse checkout leaves out, and what is staged.
pub(super) async fn read(
    store: &Store,
    git_dir: &Path,
    look: &mut Look,
    committed: &[IndexEntry],
) -> Result<(), WorktreeError> {
    let own = git_dir.join("index");
    match own.symlink_metadata() {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        Ok(meta) if meta.is_file() && copy(git_dir, &look.own_index()).is_ok() => {}
        Ok(_) | Err(_) => {
            look.special.push(Special::IndexUnreadable);
            return Ok(());
        }
    }
    let list = store.call("ls-files").index(&look.own_index());
    let list = store.git.run(list.args(["ls-files", "-v", "-s", "-z"])).await?;
    let entries = match parse::index_entries(&list.stdout) {
        Ok(entries) if list.code == 0 => entries,
        Ok(_) | Err(_) => {
            look.special.push(Special::IndexUnreadable);
            return Ok(());
        }
    };
    if entries.iter().any(|entry| entry.stage != 0) {
        look.special.push(Special::Unmerged);
    }
    let sparse = entries
        .iter()
        .filter(|entry| entry.tag.eq_ignore_ascii_case(&b'S'));
    look.sparse = sparse.map(|entry| entry.path.clone()).collect();
    let known: BTreeSet<&str> = committed.iter().map(|entry| entry.object.as_str()).collect();
    look.staged = entries;
    look.staged
        .retain(|entry| entry.mode != GITLINK && !known.contains(entry.object.as_str()));
    Ok(())
}

/// Copies the index of a git directory to `to`, with the files over which it may be split beside it.
fn copy(git_dir: &Path, to: &Path) -> io::Result<()> {
    fs::copy(git_dir.join("index"), to)?;
    let beside = to.parent().unwrap_or(Path::new("/"));
    let mut count = 0;
    for entry in fs::read_dir(git_dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(SHARED) || !entry.file_type()?.is_file() {
            continue;
        }
        count += 1;
        if count > SHARED_MAX {
            return Err(io::Error::other("too many parts of split indexes"));
        }
        fs::copy(entry.path(), beside.join(name))?;
    }
    Ok(())
}
