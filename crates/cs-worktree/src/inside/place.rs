//! What the repositories inside a tree are: ignored, declared as submodules, and where their git directories are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use sha2::{Digest, Sha256};

use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse;
use crate::path::RepoPath;
use crate::plain;
use crate::status::Look;
use crate::store::Store;
use crate::tree::Tree;

/// A file `.git` is one line.
const LINK_MAX_BYTES: u64 = 4096;

/// The repositories that stay where they are: those that the tree ignores, which are no part of the work, and those of which
/// git does not say whether it does.
pub(super) async fn left_alone(
    store: &Store,
    look: &Look,
    repositories: &[RepoPath],
) -> Result<Vec<RepoPath>, WorktreeError> {
    if let Some(ignored) = ask_ignored(store, look, repositories).await? {
        return Ok(ignored);
    }
    // Git answers for none of them when one lies inside a submodule. That of another repository is judged with that one.
    let is_inner = |path: &RepoPath| path.parents().any(|parent| repositories.contains(&parent));
    let mut left = Vec::new();
    for path in repositories {
        match ask_ignored(store, look, std::slice::from_ref(path)).await? {
            Some(ignored) => left.extend(ignored),
            None if is_inner(path) => {}
            None => left.push(path.clone()),
        }
    }
    Ok(left)
}

/// Asks git which of these paths the tree ignores; `None` when it does not say.
async fn ask_ignored(
    store: &Store,
    look: &Look,
    repositories: &[RepoPath],
) -> Result<Option<Vec<RepoPath>>, WorktreeError> {
    let mut names = Vec::new();
    for path in repositories {
        names.extend_from_slice(b"./");
        names.extend_from_slice(path.as_bytes());
        names.push(0);
    }
    if names.is_empty() {
        return Ok(Some(Vec::new()));
    }
    if look.takes_own_rules() {
        return Ok(Some(ignored_by_own_rules(store, look, repositories).await?));
    }
    let ask = look.call(store, "check-ignore").dotted_paths();
    let ask = ask.args(["check-ignore", "-z", "--stdin"]).stdin(names);
    let answer = store.git.run(ask).await?;
    let plain =
        |path: RepoPath| RepoPath::from_bytes(path.as_bytes().strip_prefix(b"./").unwrap_or_default());
    // 1: it ignores none.
    Ok(matches!(answer.code, 0 | 1).then(|| parse::z_paths(&answer.stdout).into_iter().map(plain).collect()))
}

/// The same by the rules of a commit, where git must not read those of the tree.
async fn ignored_by_own_rules(
    store: &Store,
    look: &Look,
    repositories: &[RepoPath],
) -> Result<Vec<RepoPath>, WorktreeError> {
    let list = look.call(store, "ls-files");
    let list = list.args(["ls-files", "-o", "-i", "-z", "--directory"]);
    let out = store.git.ok(list.args(look.excludes())).await?;
    let trimmed = |path: RepoPath| RepoPath::from_bytes(path.as_bytes().trim_end_with(|c| c == '/'));
    let ignored: Vec<RepoPath> = parse::z_paths(&out).into_iter().map(trimmed).collect();
    let is_ignored = |path: &&RepoPath| ignored.iter().any(|dir| path.is_within(dir));
    Ok(repositories.iter().filter(is_ignored).cloned().collect())
}

/// The submodules that the tree declares, also those inside each other. The file is read as data.
pub(super) async fn declared(store: &Store, tree: &Tree) -> Result<BTreeSet<RepoPath>, WorktreeError> {
    let file = tree.path.join(".gitmodules");
    if !file.symlink_metadata().is_ok_and(|m| m.is_file()) {
        return Ok(BTreeSet::new());
    }
    let ask = store.call("config").args(["config", "-z", "-f"]).arg(&file);
    let answer = store
        .git
        .run(ask.args(["--get-regexp", r"^submodule\..*\.path$"]))
        .await?;
    let path = |field: &[u8]| {
        let at = field.iter().position(|byte| *byte == b'\n')?;
        Some(RepoPath::from_bytes(&field[at + 1..]))
    };
    Ok(parse::z_fields(&answer.stdout).filter_map(path).collect())
}

/// The git directory of a repository inside the tree, when it is inside the tree too. What lies elsewhere is not lost with it.
pub(super) fn git_dir_of(root: &Path, tree: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    let meta = dot_git.symlink_metadata().ok()?;
    if meta.is_dir() {
        return Some(dot_git);
    }
    let named = if meta.is_symlink() {
        dot_git
    } else if meta.is_file() {
        let text = plain::read(&dot_git, LINK_MAX_BYTES).ok()?;
        root.join(parse::line_path(text.strip_prefix(b"gitdir: ")?))
    } else {
        return None;
    };
    let real = named.canonicalize().ok()?;
    real.starts_with(tree.canonicalize().ok()?).then_some(real)
}

/// A name for refs that stays the same for a path, whatever else is in the tree.
pub(super) fn short_name(path: &RepoPath) -> String {
    let digest = Sha256::digest(path.as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn zero(like: &Oid) -> Oid {
    Oid::new(like.zero_like()).unwrap_or_else(|_| like.clone())
}

/// The bytes of all files below a directory, no link followed.
pub(super) fn size_of(dir: &Path) -> u64 {
    let mut bytes = 0;
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            bytes += meta.len();
            if meta.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    bytes
}
