//! Looks at the files of a tree with `lstat` alone: no link is followed, no mount is crossed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::WorktreeError;
use crate::path::RepoPath;
use crate::special::Special;

/// What stands out among the files.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Directories, other than the root, that have a `.git`.
    pub(crate) repositories: Vec<RepoPath>,
    pub(crate) special: Vec<Special>,
}

/// Walks the files of the tree, those of nested repositories too, without any `.git`.
pub(crate) async fn survey(root: &Path) -> Result<Found, WorktreeError> {
    let root = root.to_owned();
    in_background(root.clone(), move || {
        let mut found = Found::default();
        let device = fs::symlink_metadata(&root)
            .map_err(WorktreeError::io("read", &root))?
            .dev();
        let mut dirs = vec![PathBuf::new()];
        while let Some(dir) = dirs.pop() {
            survey_dir(&root, &dir, device, &mut dirs, &mut found);
        }
        found.repositories.sort();
        found.special.sort();
        Ok(found)
    })
    .await
}

fn survey_dir(root: &Path, dir: &Path, device: u64, dirs: &mut Vec<PathBuf>, found: &mut Found) {
    let Ok(entries) = fs::read_dir(root.join(dir)) else {
        found.special.push(Special::Unreadable(repo_path(dir)));
        return;
    };
    for entry in entries.flatten() {
        let path = dir.join(entry.file_name());
        if entry.file_name() == ".git" {
            if !dir.as_os_str().is_empty() {
                found.repositories.push(repo_path(dir));
            }
            continue;
        }
        let Ok(meta) = entry.metadata() else {
            found.special.push(Special::Unreadable(repo_path(&path)));
            continue;
        };
        let kind = meta.file_type();
        if meta.dev() != device {
            found.special.push(Special::Mount(repo_path(&path)));
        } else if kind.is_dir() {
            dirs.push(path);
        } else if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
            found.special.push(Special::NotAFile(repo_path(&path)));
        }
    }
}

fn repo_path(path: &Path) -> RepoPath {
    RepoPath::from_bytes(path.as_os_str().as_bytes())
}

/// A digest of everything below `root`, `.git` included: names, kinds, sizes, inode numbers and change times.
///
/// Any write to any file since makes another digest. Of the tree's own objects, which never change under their names, the times
/// do not count: they may be the store's files too, and git touches an object that it is to write and finds there.
pub(crate) async fn fingerprint(root: &Path) -> Result<String, WorktreeError> {
    let root = root.to_owned();
    in_background(root.clone(), move || {
        let mut lines = Vec::new();
        let objects = root.join(".git/objects");
        let mut dirs = vec![root.clone()];
        while let Some(dir) = dirs.pop() {
            // A directory that cannot be listed counts with its own line only; it is reported as unreadable elsewhere.
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let path = entry.path();
                let meta = entry.metadata().map_err(WorktreeError::io("read", &path))?;
                let facts = [meta.ino(), u64::from(meta.mode()), meta.size()];
                let mut line = path.as_os_str().as_bytes().to_vec();
                line.extend(format!("\0{facts:?}").into_bytes());
                if !path.starts_with(&objects) {
                    line.extend(format!(" {} {}", meta.ctime(), meta.ctime_nsec()).into_bytes());
                }
                lines.push(line);
                if meta.is_dir() {
                    dirs.push(path);
                }
            }
        }
        lines.sort();
        let mut digest = Sha256::new();
        for line in lines {
            digest.update((line.len() as u64).to_be_bytes());
            digest.update(line);
        }
        Ok(digest
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    })
    .await
}

/// Runs a walk of a tree on a thread that may block.
pub(crate) async fn in_background<T: Send + 'static>(
    root: PathBuf,
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, WorktreeError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(WorktreeError::io("walk", &root)(std::io::Error::other(error))))
}
