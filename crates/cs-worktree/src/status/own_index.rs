//! A copy of a repository's own index, which is data to us.
//!
//! An index may be split: then most of it is in a second file beside it, which git looks for beside the copy too.

use std::fs;
use std::io;
use std::path::Path;

/// The second file of a split index has this name and a digest.
const SHARED: &[u8] = b"sharedindex.";
/// Such files that are copied: git removes those that no index uses any more after two weeks.
const SHARED_MAX: usize = 64;

/// Copies the index of a git directory to `to`, with the files over which it may be split beside it.
pub(super) fn copy(git_dir: &Path, to: &Path) -> io::Result<()> {
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
