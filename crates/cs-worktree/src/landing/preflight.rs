//! Looks before the base is moved: who holds it, and which of the user's files are in the way.

use std::collections::BTreeSet;
use std::path::Path;

use super::{How, Move, Refusal};
use crate::error::WorktreeError;
use crate::keys::{BranchName, Oid};
use crate::parse::{self, RawChange};
use crate::path::RepoPath;
use crate::repository::Repository;
use crate::runner::{Call, Git, World};
use crate::store::Store;

/// A working tree of the user and its git directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) worktree: &'a Path,
    pub(super) git_dir: &'a Path,
    index: Option<&'a Path>,
}

impl<'a> Place<'a> {
    pub(super) fn new(worktree: &'a Path, git_dir: &'a Path) -> Self {
        Self {
            worktree,
            git_dir,
            index: None,
        }
    }

    /// The same place, where git works on another index.
    pub(super) fn with_index(self, index: &'a Path) -> Self {
        Self {
            index: Some(index),
            ..self
        }
    }

    pub(super) fn call(&self, op: &'static str) -> Call {
        let call = Call::new(World::User, op)
            .git_dir(self.git_dir)
            .work_tree(self.worktree)
            .cwd(self.worktree);
        match self.index {
            Some(index) => call.index(index),
            None => call,
        }
    }
}

/// By which way the base can be moved now, or why it must not be.
pub(super) async fn way(
    git: &Git,
    repository: &Repository,
    base: &BranchName,
) -> Result<Result<How, Refusal>, WorktreeError> {
    let mut holders = repository.holders(git, base).await?;
    if let Some(what) = holders.busy {
        return Ok(Err(Refusal::BaseBusy(what)));
    }
    Ok(
        match (holders.checked_out.pop(), holders.checked_out.is_empty()) {
            (None, _) => Ok(How::NotCheckedOut),
            (Some(_), false) => Err(Refusal::CheckedOutTwice),
            (Some(only), true) if !only.path.is_dir() => Err(Refusal::CheckoutMissing),
            (Some(only), true) => Ok(How::CheckedOut {
                worktree: only.path,
                git_dir: only.git_dir,
            }),
        },
    )
}

/// The files that the move changes.
pub(super) async fn changes(store: &Store, landing: &Move) -> Result<Vec<RawChange>, WorktreeError> {
    between(&store.git, store.call("diff-tree"), [&landing.old, &landing.new]).await
}

/// The files in which two commits differ, as they are seen in the repository of a call.
pub(super) async fn between(
    git: &Git,
    diff: Call,
    [from, to]: [&Oid; 2],
) -> Result<Vec<RawChange>, WorktreeError> {
    let diff = diff.args([
        "diff-tree",
        "-r",
        "--raw",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
    ]);
    let out = git.ok(diff.args([from.as_str(), to.as_str()])).await?;
    Ok(parse::raw_diff("diff-tree", &out)?)
}

/// Which of the user's files are in the way of a fast-forward in this working tree.
pub(super) async fn overlap(
    store: &Store,
    landing: &Move,
    place: Place<'_>,
) -> Result<Option<Refusal>, WorktreeError> {
    let changes = changes(store, landing).await?;
    let dirty = dirty(&store.git, place, &changes).await?;
    if !dirty.is_empty() {
        return Ok(Some(Refusal::DirtyOverlap {
            files: dirty.into_iter().collect(),
        }));
    }
    let in_the_way = in_the_way(&store.git, place, &changes).await?;
    let ignored = ignored(&store.git, place, &in_the_way).await?;
    let untracked: Vec<RepoPath> = in_the_way.difference(&ignored).cloned().collect();
    if !untracked.is_empty() {
        return Ok(Some(Refusal::UntrackedOverlap { files: untracked }));
    }
    if !ignored.is_empty() {
        return Ok(Some(Refusal::IgnoredOverlap {
            files: ignored.into_iter().collect(),
        }));
    }
    Ok(None)
}

/// Tracked files with uncommitted changes, staged or not, that the move changes; also those that the user told git to
/// take for unchanged, and those outside a sparse checkout that are there all the same.
async fn dirty(
    git: &Git,
    place: Place<'_>,
    changes: &[RawChange],
) -> Result<BTreeSet<RepoPath>, WorktreeError> {
    let changed: BTreeSet<&RepoPath> = changes.iter().map(|c| &c.path).collect();
    let above: BTreeSet<RepoPath> = changes
        .iter()
        .flat_map(|c| c.path.parents().collect::<Vec<_>>())
        .collect();
    let touches = |path: &RepoPath| {
        changed.contains(path) || above.contains(path) || path.parents().any(|p| changed.contains(&p))
    };
    let status = place.call("status").reads_only();
    let status = status.args([
        "status",
        "--porcelain=v2",
        "-z",
        "--no-renames",
        "--untracked-files=no",
    ]);
    let status = parse::status_tracked(&git.ok(status.arg("--ignore-submodules=dirty")).await?)?;
    let mut dirty: BTreeSet<RepoPath> = status.into_iter().filter(|p| touches(p)).collect();
    let tags = git
        .ok(place.call("ls-files").reads_only().args(["ls-files", "-v", "-z"]))
        .await?;
    let hidden = parse::tagged_files(&tags).filter(|(tag, _)| tag.is_ascii_lowercase() || *tag == b'S');
    let hidden = hidden.map(|(_, path)| path).filter(|path| changed.contains(path));
    dirty.extend(hidden.filter(|path| path.below(place.worktree).symlink_metadata().is_ok()));
    Ok(dirty)
}

/// Files on disk, not tracked, where the move adds a file or a directory.
async fn in_the_way(
    git: &Git,
    place: Place<'_>,
    changes: &[RawChange],
) -> Result<BTreeSet<RepoPath>, WorktreeError> {
    let deleted: BTreeSet<&RepoPath> = changes
        .iter()
        .filter(|c| c.is_deleted())
        .map(|c| &c.path)
        .collect();
    let mut found = BTreeSet::new();
    for change in changes.iter().filter(|c| c.is_added()) {
        let blocked = |parent: &RepoPath| {
            let there = parent.below(place.worktree).symlink_metadata();
            there.is_ok_and(|m| !m.is_dir()) && !deleted.contains(parent)
        };
        found.extend(change.path.parents().filter(blocked));
        match change.path.below(place.worktree).symlink_metadata() {
            Ok(meta) if meta.is_dir() => {
                let others = place
                    .call("ls-files")
                    .reads_only()
                    .args(["ls-files", "-o", "-z", "--"]);
                let others = git.ok(others.arg(change.path.below(Path::new("")))).await?;
                found.extend(parse::z_paths(&others));
            }
            Ok(_) if !change.path.parents().any(|p| deleted.contains(&p)) => {
                found.insert(change.path.clone());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(found)
}

async fn ignored(
    git: &Git,
    place: Place<'_>,
    paths: &BTreeSet<RepoPath>,
) -> Result<BTreeSet<RepoPath>, WorktreeError> {
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    let names: Vec<u8> = paths
        .iter()
        .flat_map(|p| [b"./", p.as_bytes(), b"\0"].concat())
        .collect();
    let ask = place.call("check-ignore").reads_only().dotted_paths();
    let ask = ask.args(["check-ignore", "-z", "--stdin"]).stdin(names);
    let answer = git.run(ask).await?;
    // Exit code 1: none of them.
    if answer.code > 1 {
        return Err(answer.into_error("check-ignore").into());
    }
    let dotted = parse::z_fields(&answer.stdout);
    Ok(dotted
        .map(|p| RepoPath::from_bytes(p.strip_prefix(b"./").unwrap_or(p)))
        .collect())
}
