//! The way back of a snapshot: a new directory, or a branch of the user's.

use std::fs::{self, File};
use std::path::Path;

use crate::Worktrees;
use crate::borders::{Border, Borders};
use crate::collect;
use crate::error::WorktreeError;
use crate::keys::{BranchName, CodebaseKey, Oid};
use crate::lfs;
use crate::path::RepoPath;
use crate::removal;
use crate::repository::Repository;
use crate::saved::{SavedWork, changes, find, refs_below};
use crate::store::{self, RefChange, RefMove, Store};
use crate::tree;

/// Begins the name of a directory in which a snapshot is restored, before it has its place.
const HALF: &str = ".cs-panel-restore-";
/// The file in it that is locked while somebody works there.
const HELD: &str = "held";

impl Worktrees {
    /// Writes a snapshot into a new directory: a clone that stands on the snapshot's parent, with everything that was
    /// uncommitted uncommitted again. All that the attempt committed is in it too, below `refs/saved/`.
    ///
    /// A crash leaves nothing at `to`, and what it leaves beside that goes with the next restore there.
    ///
    /// # Errors
    /// [`WorktreeError::NotSaved`]; [`WorktreeError::Occupied`]: there is something at `to`; or git or the disk failed.
    pub async fn restore_to_directory(
        &self,
        codebase: &CodebaseKey,
        reference: &str,
        to: &Path,
    ) -> Result<SavedWork, WorktreeError> {
        let store = self.store(codebase);
        let work = find(&store, reference).await?;
        let beside = to
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        sweep_halves(beside, self.borders());
        if to.symlink_metadata().is_ok() {
            return Err(WorktreeError::Occupied { path: to.to_owned() });
        }
        let half = tempfile::Builder::new()
            .prefix(HALF)
            .tempdir_in(beside)
            .map_err(WorktreeError::io("make a directory in", beside))?;
        let _held = hold(half.path())?;
        let made = half.path().join("work");
        self.fill_directory(&store, &work, &made).await?;
        self.reach(Border::RestoreFilled);
        fs::rename(&made, to).map_err(WorktreeError::io("put in place", to))?;
        self.reach(Border::RestoreMade);
        Ok(work)
    }

    async fn fill_directory(
        &self,
        store: &Store,
        work: &SavedWork,
        made: &Path,
    ) -> Result<(), WorktreeError> {
        self.run_clone(store, made, &[]).await?;
        self.reach(Border::RestoreCloned);
        let git_dir = made.join(".git");
        let run = store::run_ref(&work.run, "*");
        let on_made = |op| tree::on_clone(op, &git_dir).work_tree(made).cwd(made);
        let fetch = on_made("fetch").args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        self.git()
            .ok(fetch.args(["origin".to_owned(), format!("+{run}:refs/saved/*")]))
            .await?;
        let start = work.parent.as_ref().unwrap_or(&work.commit);
        let switch = on_made("switch").args(["switch", "--quiet", "--detach"]);
        self.git().ok(switch.arg(start.as_str())).await?;
        let update =
            on_made("read-tree").args(["read-tree", "-m", "-u", start.as_str(), work.commit.as_str()]);
        self.git().ok(update).await?;
        let index = on_made("read-tree").args(["read-tree", start.as_str()]);
        self.git().ok(index).await?;
        let changed = changes(store, start, &work.commit).await?;
        let files: Vec<RepoPath> = changed.into_iter().map(|entry| entry.path).collect();
        lfs::restore(store, made, &files).await?;
        // The store is ours alone: nobody shall push to it or fetch from it by accident.
        let remote = on_made("remote").args(["remote", "remove", "origin"]);
        self.git().ok(remote).await?;
        Ok(())
    }

    /// Makes a branch in the user's repository at a snapshot, or at any commit that a ref of the store holds: what was
    /// uncommitted is one commit on top of what the tree stood on. No working tree is touched, no branch is moved.
    ///
    /// # Errors
    /// [`WorktreeError::NotSaved`]: no ref of the store has this name; [`WorktreeError::BranchCollision`]: the branch exists; or
    /// git failed.
    pub async fn restore_to_branch(
        &self,
        repository: &Repository,
        codebase: &CodebaseKey,
        reference: &str,
        branch: &BranchName,
    ) -> Result<Oid, WorktreeError> {
        let _lock = self.lock(codebase).await?;
        let store = self.store(codebase);
        let unknown = || WorktreeError::NotSaved {
            reference: reference.to_owned(),
        };
        let known = refs_below(&store, "refs/cs-panel").await?;
        let (name, commit) = known
            .into_iter()
            .find(|(name, _)| name == reference)
            .ok_or_else(unknown)?;
        self.refuse_collisions(repository, branch).await?;
        let collision = || WorktreeError::BranchCollision {
            branch: branch.clone(),
            existing: branch.as_str().to_owned(),
        };
        match repository.branch_tip(self.git(), branch).await? {
            Some(tip) if tip == commit => return Ok(commit),
            Some(_) => return Err(collision()),
            None => {}
        }
        lfs::bring_to_user(&store, repository, &commit, &["--glob=refs/cs-panel/base"]).await?;
        collect::fetch_into(self.git(), repository, &store, &format!("+{name}:{name}")).await?;
        self.reach(Border::SnapshotShown);
        let change = RefChange {
            new: &commit,
            old: None,
            note: "cs-panel: restored",
        };
        let call = repository.call("update-ref");
        let moved = store::move_ref(self.git(), call, &branch.full_ref(), change).await?;
        self.reach(Border::BranchRestored);
        match moved {
            RefMove::Moved => Ok(commit),
            RefMove::Stale => Err(collision()),
        }
    }
}

/// Says that a half is being made: the lock ends with the process.
fn hold(half: &Path) -> Result<File, WorktreeError> {
    let place = half.join(HELD);
    let file = File::create(&place).map_err(WorktreeError::io("write", &place))?;
    file.lock().map_err(WorktreeError::io("lock", &place))?;
    Ok(file)
}

/// Removes the halves that a crash left in a directory of the user's: those that are named as ours, have our file, and are held by
/// nobody.
fn sweep_halves(dir: &Path, borders: Borders) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_named = name.as_encoded_bytes().starts_with(HALF.as_bytes());
        let held = entry.path().join(HELD);
        let is_half = is_named && held.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if is_half && File::open(&held).is_ok_and(|file| file.try_lock().is_ok()) {
            removal::delete(&entry.path(), borders);
        }
    }
}
