//! What is ignored in a tree: what a manifest says of it, and what of it is saved all the same.
//!
//! Ignored files are not part of the work: secrets and what is built. But an agent can write rules that hide its work. So what is
//! ignored only by rules that the commit where the card began does not have is saved like other new files, within limits of its own,
//! and what is beyond them is named. It goes by whole directories of the root, the smallest first: what is built fills a limit,
//! work does not.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::{GitError, WorktreeError};
use crate::parse;
use crate::path::RepoPath;
use crate::plain;
use crate::special::Special;
use crate::status::budget::FILE_MAX_BYTES;
use crate::status::rules::{self, Rules};
use crate::status::{Look, find_filtered};
use crate::store::{self, Store};
use crate::tree::Tree;

/// Hidden files that are saved, and their bytes in all.
const HIDDEN_MAX: usize = 5_000;
const HIDDEN_MAX_BYTES: u64 = 200 << 20;
/// Paths that a manifest names of each kind.
const NAMED: usize = 100;
/// A directory with such a file holds what can be made again (https://bford.info/cachedir/).
const CACHE_MARK: &[u8] = b"CACHEDIR.TAG";

/// Files that only rules of the agent ignore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// Those that are in the snapshot.
    pub saved: Vec<RepoPath>,
    /// Those that are not, the first hundred: caches, and what is beyond the limits. They stay in the tree and in the trash.
    pub left: Vec<RepoPath>,
    /// How many are not.
    pub left_count: usize,
    /// They were not looked for: there is too much in the tree.
    pub is_unknown: bool,
}

/// What the tree ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ignored {
    /// The first hundred.
    pub(crate) named: Vec<RepoPath>,
    pub(crate) count: usize,
    /// There is more than git can name.
    pub(crate) is_cut: bool,
}

/// Lists what is ignored.
pub(crate) async fn list(store: &Store, look: &Look) -> Result<Ignored, WorktreeError> {
    let list = look.call(store, "ls-files");
    let list = list.args(["ls-files", "-o", "-i", "-z", "--directory"]);
    let Some(paths) = within_cap(store.git.ok(list.args(look.excludes())).await)? else {
        return Ok(Ignored {
            is_cut: true,
            ..Ignored::default()
        });
    };
    let paths = parse::z_paths(&paths);
    Ok(Ignored {
        count: paths.len(),
        named: paths.into_iter().take(NAMED).collect(),
        is_cut: false,
    })
}

/// Finds what only rules of the agent ignore, and adds to the look what is to be saved of it.
pub(crate) async fn unhide(store: &Store, tree: &Tree, look: &mut Look) -> Result<Hidden, WorktreeError> {
    let base = store.commit(&store::card_base_ref(&tree.spec.card)).await?;
    let Some(base) = base.filter(|_| look.is_listed()) else {
        return Ok(Hidden::default());
    };
    let found = match Rules::of(store, &base).await {
        Ok(rules) if rules.are_those_of(look.root(), &look.ignore_files) => return Ok(Hidden::default()),
        Ok(rules) => {
            let list = look.call(store, "ls-files").args(["ls-files", "-o", "-z"]);
            let list = list.args(rules.write(store, &look.temp_file("base-rules"))?);
            within_cap(store.git.ok(list).await)?
        }
        Err(WorktreeError::Git(GitError::OverCap { .. })) => None,
        Err(error) => return Err(error),
    };
    let Some(found) = found else {
        return Ok(Hidden {
            is_unknown: true,
            ..Hidden::default()
        });
    };
    let known: BTreeSet<&RepoPath> = look.entries.iter().map(|entry| &entry.path).collect();
    let mut hidden = parse::z_paths(&found);
    hidden
        .retain(|path| !path.as_bytes().ends_with(b"/") && !look.hides(path, false) && !known.contains(path));
    let bytes = |path: &RepoPath| size(look, path);
    let chosen = choose(hidden, &bytes);
    for path in &chosen.saved {
        look.add_untracked(path.clone());
    }
    look.entries.sort();
    find_filtered(store, look, &chosen.saved).await?;
    Ok(chosen)
}

/// The bytes of a file that can be saved.
fn size(look: &Look, path: &RepoPath) -> Option<u64> {
    let file = path.below(look.root());
    let meta = file.symlink_metadata().ok()?;
    let is_readable = meta.is_symlink() || meta.is_file() && plain::open(&file).is_ok();
    (is_readable && meta.len() <= FILE_MAX_BYTES).then_some(meta.len())
}

/// Chooses what is saved.
fn choose(hidden: Vec<RepoPath>, bytes: &dyn Fn(&RepoPath) -> Option<u64>) -> Hidden {
    let marks = hidden.iter().filter(|path| rules::name_of(path) == CACHE_MARK);
    let caches: BTreeSet<RepoPath> = marks.filter_map(|mark| mark.parents().next()).collect();
    let is_cached = |path: &RepoPath| path.parents().any(|dir| caches.contains(&dir));
    let mut left: Vec<RepoPath> = Vec::new();
    let mut groups: BTreeMap<Vec<u8>, Group> = BTreeMap::new();
    for path in hidden {
        match bytes(&path).filter(|_| !is_cached(&path)) {
            None => left.push(path),
            Some(bytes) => groups.entry(first_part(&path)).or_default().add(path, bytes),
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|group| group.files.len());
    let mut saved: Vec<RepoPath> = Vec::new();
    let mut room = HIDDEN_MAX_BYTES;
    for mut group in groups {
        if saved.len() + group.files.len() <= HIDDEN_MAX && group.bytes <= room {
            room -= group.bytes;
            saved.append(&mut group.files);
        } else {
            left.append(&mut group.files);
        }
    }
    saved.sort();
    left.sort();
    Hidden {
        saved,
        left_count: left.len(),
        left: left.into_iter().take(NAMED).collect(),
        is_unknown: false,
    }
}

/// What is in one directory of the root, or one file there.
#[derive(Debug, Default)]
struct Group {
    files: Vec<RepoPath>,
    bytes: u64,
}

impl Group {
    fn add(&mut self, path: RepoPath, bytes: u64) {
        self.files.push(path);
        self.bytes += bytes;
    }
}

fn first_part(path: &RepoPath) -> Vec<u8> {
    let mut parts = path.as_bytes().split(|byte| *byte == b'/');
    parts.next().unwrap_or_default().to_owned()
}

/// What git says; `None` when it is more than is read.
pub(crate) fn within_cap<T>(answer: Result<T, GitError>) -> Result<Option<T>, WorktreeError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(GitError::OverCap { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Look {
    /// Whether its files are listed: there are not too many of them, and git could read them.
    fn is_listed(&self) -> bool {
        !self.files_unread && !self.special.iter().any(|s| matches!(s, Special::TooMany { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, usize)], bytes: u64, expected: &[&str]) {
        let numbered = |(name, count): &(&str, usize)| -> Vec<RepoPath> {
            let name = name.to_string();
            (0..*count)
                .map(|n| RepoPath::from_bytes(name.replace('#', &n.to_string())))
                .collect()
        };
        let hidden: Vec<RepoPath> = files.iter().flat_map(numbered).collect();
        let all = hidden.len();
        let chosen = choose(hidden, &|_| Some(bytes));
        let begins: BTreeSet<Vec<u8>> = chosen.saved.iter().map(first_part).collect();
        let expected: BTreeSet<Vec<u8>> = expected.iter().map(|name| name.as_bytes().to_vec()).collect();
        assert_eq!(begins, expected);
        assert_eq!(chosen.saved.len() + chosen.left_count, all);
        assert!(chosen.left.len() <= NAMED);
    }

    #[test]
    fn small_directories_are_saved_before_large_ones_and_caches_never() {
        check(&[("notes", 1), ("results/#", 50)], 10, &["notes", "results"]);
        check(&[(".venv/#", HIDDEN_MAX), ("notes", 1)], 10, &["notes"]);
        check(&[("a/#", HIDDEN_MAX)], 10, &["a"]);
        check(&[("big/#", 3), ("notes", 1)], HIDDEN_MAX_BYTES / 3, &["notes"]);
        check(
            &[(".cache/CACHEDIR.TAG", 1), (".cache/v/#", 3), ("notes", 1)],
            10,
            &["notes"],
        );
    }
}
