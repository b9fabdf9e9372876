//! What is under way in a working tree, read from the files that git keeps in its git directory.

use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::{parse, plain};

/// The longest file of names that is read; a rebase notes many refs.
const NAMES_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Something under way in a working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BusyWith {
    /// A merge that is not concluded.
    Merge,
    /// A cherry-pick that is not concluded.
    CherryPick,
    /// A revert that is not concluded.
    Revert,
    /// A rebase, or patches being applied.
    Rebase,
    /// A bisect session.
    Bisect,
    /// A git process holds the index, or one died while it did.
    IndexLock,
    /// A git process holds the branch, or one died while it did.
    RefLock,
}

impl BusyWith {
    /// Says it to a person.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Merge => "a merge is under way",
            Self::CherryPick => "a cherry-pick is under way",
            Self::Revert => "a revert is under way",
            Self::Rebase => "a rebase is under way",
            Self::Bisect => "a bisect is under way",
            Self::IndexLock => "another git process holds the index (or left index.lock behind)",
            Self::RefLock => "another git process holds the branch (or left a lock file behind)",
        }
    }
}

/// Everything under way in the working tree with this git directory.
pub(crate) fn under_way(git_dir: &Path) -> Vec<BusyWith> {
    let signs = [
        ("MERGE_HEAD", BusyWith::Merge),
        ("CHERRY_PICK_HEAD", BusyWith::CherryPick),
        ("REVERT_HEAD", BusyWith::Revert),
        ("rebase-merge", BusyWith::Rebase),
        ("rebase-apply", BusyWith::Rebase),
        ("BISECT_START", BusyWith::Bisect),
        ("index.lock", BusyWith::IndexLock),
    ];
    let is_there = |name: &str| git_dir.join(name).symlink_metadata().is_ok();
    signs
        .into_iter()
        .filter(|(name, _)| is_there(name))
        .map(|(_, busy)| busy)
        .collect()
}

/// Why the branch must not be moved as far as this working tree is concerned.
///
/// A tree that has the branch checked out is busy with anything under way. Another tree is busy only with a rebase
/// or a bisect that will move the branch or return to it: its HEAD is detached meanwhile, and git lists the branch
/// as checked out nowhere.
pub(crate) fn busy_with(git_dir: &Path, full_ref: &str, checked_out: bool) -> Option<BusyWith> {
    if checked_out {
        return under_way(git_dir).into_iter().next();
    }
    let short = full_ref.strip_prefix("refs/heads/").unwrap_or(full_ref);
    let names = |file: &str, wanted: &str| {
        plain::read(&git_dir.join(file), NAMES_MAX_BYTES)
            .is_ok_and(|text| text.lines().any(|line| line.trim_ascii() == wanted.as_bytes()))
    };
    let rebased = [
        "rebase-merge/head-name",
        "rebase-apply/head-name",
        "rebase-merge/update-refs",
    ];
    if rebased.iter().any(|file| names(file, full_ref)) {
        return Some(BusyWith::Rebase);
    }
    (names("BISECT_START", short) || names("BISECT_START", full_ref)).then_some(BusyWith::Bisect)
}

/// Why a branch that no working tree has checked out must not be moved all the same.
pub(crate) fn elsewhere(common_dir: &Path, full_ref: &str) -> Option<BusyWith> {
    git_dirs(common_dir).find_map(|dir| busy_with(&dir, full_ref, false))
}

/// Whether git works on the index of any working tree. One that switches has read the tip of its branch, and tells nobody of it before it is
/// done.
pub(crate) fn an_index_is_locked(common_dir: &Path) -> bool {
    git_dirs(common_dir).any(|dir| dir.join("index.lock").symlink_metadata().is_ok())
}

/// The git directories of all working trees of a repository, the linked ones too.
fn git_dirs(common_dir: &Path) -> impl Iterator<Item = PathBuf> {
    let linked = linked_git_dirs(common_dir).into_iter().map(|(_, dir)| dir);
    std::iter::once(common_dir.to_owned()).chain(linked)
}

/// The linked working trees of a repository: their path and their own git directory.
pub(crate) fn linked_git_dirs(common_dir: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(common_dir.join("worktrees")) else {
        return Vec::new();
    };
    let linked = |entry: fs::DirEntry| {
        let link = plain::read(&entry.path().join("gitdir"), NAMES_MAX_BYTES).ok()?;
        let dot_git = parse::line_path(&link);
        let dot_git = if dot_git.is_absolute() {
            dot_git
        } else {
            entry.path().join(dot_git)
        };
        let tree = dot_git.parent()?;
        Some((
            tree.canonicalize().unwrap_or_else(|_| tree.to_owned()),
            entry.path(),
        ))
    };
    entries.flatten().filter_map(linked).collect()
}
