//! Looks at the files of a tree with `lstat` alone: no link is followed, no mount is crossed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType};
use sha2::{Digest, Sha256};

use crate::discard;
use crate::disk;
use crate::error::WorktreeError;
use crate::mounts::{self, Mount};
use crate::path::RepoPath;
use crate::special::Special;
use crate::status::rules;
use crate::tree;

/// What stands out among the files.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Directories, other than the root, that have a `.git`.
    pub(crate) repositories: Vec<RepoPath>,
    pub(crate) special: Vec<Special>,
    /// Files `.gitignore` that git can read.
    pub(crate) ignore_files: Vec<RepoPath>,
    /// Rules that git must not read in their place.
    pub(crate) unread: Unread,
}

/// Which kinds of rules are in a file of a tree that git must not read: it would wait for a pipe or a device, or find no end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) ignore: bool,
    pub(crate) attributes: bool,
}

/// Walks the files of the tree, those of nested repositories too, without any `.git`.
pub(crate) async fn survey(root: &Path) -> Result<Found, WorktreeError> {
    let root = root.to_owned();
    in_background(root.clone(), move || {
        let mut found = Found::default();
        let mount = mounts::look_at(CWD, &root)
            .map_err(|error| WorktreeError::io("read", &root)(error.into()))?
            .mount;
        let mut dirs = vec![PathBuf::new()];
        while let Some(dir) = dirs.pop() {
            survey_dir(&root, &dir, mount, &mut dirs, &mut found);
        }
        found.repositories.sort();
        found.special.sort();
        Ok(found)
    })
    .await
}

fn survey_dir(root: &Path, dir: &Path, mount: Mount, dirs: &mut Vec<PathBuf>, found: &mut Found) {
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
        let Ok(seen) = mounts::look_at(CWD, entry.path()) else {
            found.special.push(Special::Unreadable(repo_path(&path)));
            continue;
        };
        if seen.mount != mount {
            found.special.push(Special::Mount(repo_path(&path)));
            continue;
        }
        let kind = FileType::from_raw_mode(seen.mode);
        survey_rules(root, &path, kind, found);
        match kind {
            FileType::Directory => dirs.push(path),
            FileType::RegularFile | FileType::Symlink => {}
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => found.special.push(Special::NotAFile(repo_path(&path))),
        }
    }
}

/// Notes a file of rules. Git reads no link in the place of one.
fn survey_rules(root: &Path, path: &Path, kind: FileType, found: &mut Found) {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let is_ignore = name == rules::IGNORE;
    if !is_ignore && name != rules::ATTRIBUTES || matches!(kind, FileType::Directory | FileType::Symlink) {
        return;
    }
    let meta = root.join(path).symlink_metadata();
    let is_read = meta.is_ok_and(|meta| meta.is_file() && meta.len() <= rules::RULES_MAX_BYTES);
    if !is_read {
        found.special.push(Special::RulesNotRead(repo_path(path)));
        found.unread.ignore |= is_ignore;
        found.unread.attributes |= !is_ignore;
    } else if is_ignore {
        found.ignore_files.push(repo_path(path));
    }
}

/// What stands beside the files of a tree, in the directory that goes to the trash with them, and is not ours.
pub(crate) fn beside(work: &Path) -> Vec<Special> {
    let above = RepoPath::from_bytes("..");
    let Some(Ok(entries)) = work.parent().map(fs::read_dir) else {
        return vec![Special::Unreadable(above)];
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let mut found: Vec<Special> = names
        .filter_map(|name| match name {
            Ok(name) if is_ours(name.as_bytes()) => None,
            Ok(name) => Some(Special::Beside(
                RepoPath::from_bytes(name.as_bytes()).inside(&above),
            )),
            Err(_) => Some(Special::Unreadable(above.clone())),
        })
        .collect();
    found.sort();
    found
}

/// Our own names there, and that of a file of ours whose writing was cut off.
fn is_ours(name: &[u8]) -> bool {
    let half = name.strip_prefix(disk::HALF.as_bytes());
    let is_half = half.is_some_and(|rest| rest.len() == 6 && rest.iter().all(u8::is_ascii_alphanumeric));
    is_half
        || [tree::WORK_DIR, tree::TREE_FILE, discard::MARK]
            .iter()
            .any(|own| own.as_bytes() == name)
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
