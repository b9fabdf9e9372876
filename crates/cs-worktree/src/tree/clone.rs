//! Making a tree: a clone of the store beside its place, which gets its name when it is whole.

use std::fs;
use std::path::Path;

use bstr::ByteSlice;

use super::{TREE_FILE, TreeFile, TreeSpec, WORK_DIR};
use crate::Worktrees;
use crate::borders::Border;
use crate::disk;
use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::repository::Repository;
use crate::runner::{COPY_LIMIT, Call, World};
use crate::status::seed;
use crate::store::{self, Store};

/// A call on a clone that nobody but us has written.
pub(crate) fn on_clone(op: &'static str, git_dir: &Path) -> Call {
    let call = Call::new(World::Ours, op).git_dir(git_dir);
    // What the user has in their history is not ours to find fault with.
    let call = call.setting("transfer.fsckObjects=false").limit(COPY_LIMIT);
    // As many writers as there are cores.
    call.setting("checkout.workers=0")
}

pub(super) struct NewTree<'a> {
    pub(super) spec: &'a TreeSpec,
    pub(super) head: &'a Oid,
    pub(super) base: &'a Oid,
}

impl Worktrees {
    pub(super) async fn clone_tree(
        &self,
        store: &Store,
        repository: &Repository,
        dir: &Path,
        new: NewTree<'_>,
    ) -> Result<(), WorktreeError> {
        let half = self.bare_clone(store, repository, &new).await?;
        self.reach(Border::CloneMade);
        let work = half.path().join(WORK_DIR);
        let git_dir = work.join(".git");
        let switch = on_clone("switch", &git_dir).work_tree(&work).args([
            "switch",
            "--quiet",
            "--no-track",
            "-c",
            new.spec.branch.as_str(),
        ]);
        self.git().ok(switch.arg(new.head.as_str()).cwd(&work)).await?;
        self.reach(Border::FilesMade);
        seed::keep(store, &new.spec.card, &git_dir.join("index"));
        let file = TreeFile {
            version: 1,
            spec: new.spec.clone(),
            base_commit: new.base.clone(),
        };
        disk::write_json(&half.path().join(TREE_FILE), &file)?;
        self.reach(Border::TreeNamed);
        fs::rename(half.path(), dir).map_err(WorktreeError::io("put in place", dir))?;
        // The directory has its final name: there is nothing left to clean up.
        drop(half.keep());
        self.reach(Border::TreeMade);
        Ok(())
    }

    /// Clones the store into a directory beside the tree's place: a git directory that knows the card's head, and no files.
    pub(super) async fn bare_clone(
        &self,
        store: &Store,
        repository: &Repository,
        new: &NewTree<'_>,
    ) -> Result<tempfile::TempDir, WorktreeError> {
        let parent = self.root().join("cards").join(new.spec.card.as_str());
        fs::create_dir_all(&parent).map_err(WorktreeError::io("make", &parent))?;
        let half = tempfile::Builder::new()
            .prefix(&Self::half_prefix(new.spec))
            .tempdir_in(&parent)
            .map_err(WorktreeError::io("make a directory in", &parent))?;
        let work = half.path().join(WORK_DIR);
        self.run_clone(store, &work).await?;
        self.set_up_clone(repository, &work).await?;
        let git_dir = work.join(".git");
        let fetch = on_clone("fetch", &git_dir).work_tree(&work);
        let fetch = fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin"]);
        self.git().ok(fetch.arg(store::head_ref(&new.spec.card))).await?;
        Ok(half)
    }

    /// Packs are hardlinked where the file system allows it. `--local` is not said: it would forbid the copy elsewhere.
    pub(crate) async fn run_clone(&self, store: &Store, work: &Path) -> Result<(), WorktreeError> {
        let clone =
            Call::new(World::Ours, "clone").args(["clone", "--quiet", "--template=", "--no-checkout"]);
        let clone = clone.args(["--no-tags", "--origin=origin"]);
        let clone = clone.args([
            "-c",
            "remote.origin.fetch=+refs/cs-panel/base/*:refs/remotes/origin/*",
        ]);
        // What the user has in their history is not ours to find fault with.
        let clone = clone.setting("transfer.fsckObjects=false").limit(COPY_LIMIT);
        self.git().ok(clone.arg(&store.dir).arg(work)).await?;
        Ok(())
    }

    /// A push from the tree goes nowhere, and the agent commits as the user does in their repository.
    async fn set_up_clone(&self, repository: &Repository, work: &Path) -> Result<(), WorktreeError> {
        let identity = self.git().identity().clone();
        let mut settings = vec![("remote.origin.pushurl".to_owned(), "DISABLED".to_owned())];
        for (key, fallback) in [("user.name", identity.name), ("user.email", identity.email)] {
            let ask = self
                .git()
                .run(repository.call("config").args(["config", key]))
                .await?;
            let value = ask.stdout.trim_ascii().to_str_lossy().into_owned();
            settings.push((key.to_owned(), if value.is_empty() { fallback } else { value }));
        }
        for (key, value) in settings {
            let set = Call::new(World::Ours, "config").git_dir(&work.join(".git"));
            self.git().ok(set.args(["config", &key, &value])).await?;
        }
        Ok(())
    }
}
