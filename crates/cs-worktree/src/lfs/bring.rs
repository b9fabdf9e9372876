//! Contents of LFS on their way to the user: a pointer that lands or comes back must not point to nothing.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use super::{FILTER, POINTER_MAX_BYTES, Pointer, keep, place};
use crate::error::{GitError, WorktreeError};
use crate::keys::Oid;
use crate::parse;
use crate::path::RepoPath;
use crate::plain;
use crate::repository::Repository;
use crate::runner::{COPY_LIMIT, Call, World};
use crate::store::Store;
use crate::tree;
use crate::walk;

/// Small contents that are read at once in the search for pointers.
const READ_AT_ONCE: usize = 4_000;

/// Copies the contents that the store has of what a commit and its history point to into the user's own LFS. `but` is what the user
/// has: revisions as `git rev-list` takes them behind `--not`.
///
/// A pointer whose content is not in the store is passed over: LFS gets it where it always does.
pub(crate) async fn bring_to_user(
    store: &Store,
    repository: &Repository,
    commit: &Oid,
    but: &[&str],
) -> Result<(), WorktreeError> {
    if !has_any(store) {
        return Ok(());
    }
    let pointers = pointers_of(store, commit, but).await?;
    let to = objects_of_user(store, repository).await?;
    copy_all(store, pointers, to).await
}

/// Puts contents of LFS back into a restored clone of ours: into its own LFS, for the files that changed into the files, and for the
/// others too where the user has LFS, as a checkout of theirs would.
pub(crate) async fn restore(store: &Store, clone: &Path, changed: &[RepoPath]) -> Result<(), WorktreeError> {
    if !has_any(store) {
        return Ok(());
    }
    let committed = through_lfs(store, clone).await?;
    let to = clone.join(".git/lfs/objects");
    let has_lfs = user_has_lfs(store).await?;
    let (store, clone, changed) = (store.clone(), clone.to_owned(), changed.to_vec());
    walk::in_background(clone.clone(), move || {
        for path in committed.iter().chain(&changed) {
            let file = path.below(&clone);
            let Some(pointer) = pointer_at(&file) else {
                continue;
            };
            let object = pointer.object(&store);
            if !object.is_file() {
                continue;
            }
            let own = place(&to, &pointer.sha256);
            keep(&object, &pointer, &own).map_err(WorktreeError::io("write", &own))?;
            if has_lfs || changed.contains(path) {
                fill(&object, &file).map_err(WorktreeError::io("write", &file))?;
            }
        }
        Ok(())
    })
    .await
}

/// Writes a content into the file that is there: its mode is that of the commit, not that of the object.
fn fill(object: &Path, file: &Path) -> io::Result<()> {
    let mut from = plain::open(object)?;
    io::copy(&mut from, &mut File::create(file)?).map(drop)
}

fn pointer_at(file: &Path) -> Option<Pointer> {
    let meta = file.symlink_metadata().ok()?;
    if !meta.is_file() {
        return None;
    }
    Pointer::read(&plain::read(file, POINTER_MAX_BYTES).ok()?)
}

/// Whether the store has any content of LFS: in most codebases it has none, and there is nothing to look for.
fn has_any(store: &Store) -> bool {
    fs::read_dir(store.dir.join("lfs/objects")).is_ok_and(|mut entries| entries.next().is_some())
}

async fn copy_all(store: &Store, pointers: Vec<Pointer>, to: PathBuf) -> Result<(), WorktreeError> {
    let store = store.clone();
    walk::in_background(to.clone(), move || {
        for pointer in pointers {
            let object = pointer.object(&store);
            if object.is_file() {
                let place = place(&to, &pointer.sha256);
                keep(&object, &pointer, &place).map_err(WorktreeError::io("write", &place))?;
            }
        }
        Ok(())
    })
    .await
}

/// The pointers in the history of a commit, without what is reachable from `but`.
async fn pointers_of(store: &Store, commit: &Oid, but: &[&str]) -> Result<Vec<Pointer>, WorktreeError> {
    match pointers_in(store, &|op| store.call(op), commit, but).await {
        Err(WorktreeError::Git(error @ GitError::OverCap { .. })) => {
            tracing::warn!(%commit, %error, "too much to look for contents of LFS in");
            Ok(Vec::new())
        }
        other => other,
    }
}

/// The same, asked of another repository. A history of which the list is too long is an error.
pub(crate) async fn pointers_in(
    store: &Store,
    call: &(dyn Fn(&'static str) -> Call + Sync),
    commit: &Oid,
    but: &[&str],
) -> Result<Vec<Pointer>, WorktreeError> {
    let list = call("rev-list").limit(COPY_LIMIT);
    let list = list.args(["rev-list", "--objects", "--no-object-names"]);
    let small = format!(
        "--filter=combine:object:type=blob+blob:limit={}",
        POINTER_MAX_BYTES + 1
    );
    let list = list.arg(small).arg(commit.as_str()).arg("--not").args(but);
    let out = store.git.ok(list).await?;
    let names: Vec<&[u8]> = out.lines().collect();
    let mut pointers = Vec::new();
    for some in names.chunks(READ_AT_ONCE) {
        let read = call("cat-file").args(["cat-file", "--batch"]);
        let out = store
            .git
            .ok(read.stdin([some.join(&b'\n').as_slice(), b"\n"].concat()))
            .await?;
        let mut rest = out.as_slice();
        while let Some(text) = parse::next_object(&mut rest) {
            pointers.extend(Pointer::read(text));
        }
    }
    Ok(pointers)
}

/// Where the user's LFS keeps its contents.
async fn objects_of_user(store: &Store, repository: &Repository) -> Result<PathBuf, WorktreeError> {
    let ask = repository.call("config").reads_only();
    let ask = ask.args(["config", "-z", "--type=path", "lfs.storage"]);
    let answer = store.git.run(ask).await?;
    let named = parse::z_fields(&answer.stdout).next().map(parse::to_path);
    let storage = named.unwrap_or_else(|| PathBuf::from("lfs"));
    Ok(repository.common_dir.join(storage).join("objects"))
}

/// Whether files go through LFS in the user's own checkouts.
async fn user_has_lfs(store: &Store) -> Result<bool, WorktreeError> {
    let ask = Call::new(World::User, "config").reads_only();
    let ask = ask.args([
        "config",
        "--name-only",
        "--get-regexp",
        r"^filter\.lfs\.(clean|process)$",
    ]);
    Ok(store.git.run(ask).await?.code == 0)
}

/// The files of a clone of ours that go through LFS.
async fn through_lfs(store: &Store, clone: &Path) -> Result<Vec<RepoPath>, WorktreeError> {
    let git_dir = clone.join(".git");
    let on_clone = |op| tree::on_clone(op, &git_dir).work_tree(clone).cwd(clone);
    let files = store
        .git
        .ok(on_clone("ls-files").args(["ls-files", "-z"]))
        .await?;
    let ask = on_clone("check-attr").args(["check-attr", "-z", "--stdin", "filter"]);
    let out = store.git.ok(ask.stdin(files)).await?;
    let fields: Vec<&[u8]> = parse::z_fields(&out).collect();
    let of_lfs = fields.chunks_exact(3).filter(|answer| answer[2] == FILTER);
    Ok(of_lfs.map(|answer| RepoPath::from_bytes(answer[0])).collect())
}
