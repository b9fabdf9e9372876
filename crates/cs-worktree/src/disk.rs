//! Small files, written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{GitError, WorktreeError};

/// Begins the name of a file that is being written.
pub(crate) const HALF: &str = ".tmp-";

/// Replaces a file: the new content is on disk before it gets the name.
pub(crate) fn write_atomically(path: &Path, content: &[u8]) -> Result<(), WorktreeError> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let write = || {
        fs::create_dir_all(dir)?;
        let mut file = tempfile::Builder::new().prefix(HALF).tempfile_in(dir)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(WorktreeError::io("write", path))
}

/// Replaces a file with the JSON of a value.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), WorktreeError> {
    let json = serde_json::to_vec_pretty(value)
        .map_err(|error| WorktreeError::io("write", path)(std::io::Error::other(error)))?;
    write_atomically(path, &json)
}

/// The path without links, as the kernel names it; of what is not there yet, below the nearest directory that is.
pub(crate) fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(found) = there.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                there = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// Less than this left, and a failure is put down to it.
const FULL_BYTES: u64 = 256 << 10;

/// Looks whether a failure is due to a full disk, and says so then.
pub(crate) fn explain(root: &Path, error: WorktreeError) -> WorktreeError {
    let may_be = match &error {
        WorktreeError::Git(GitError::Failed { .. }) | WorktreeError::Corrupt { .. } => true,
        WorktreeError::Io { source, .. } => source.kind() != io::ErrorKind::PermissionDenied,
        _ => false,
    };
    if !may_be || !is_full(root) {
        return error;
    }
    WorktreeError::DiskFull {
        path: root.to_owned(),
        source: Box::new(error),
    }
}

fn is_full(root: &Path) -> bool {
    rustix::fs::statvfs(root).is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) < FULL_BYTES)
}
