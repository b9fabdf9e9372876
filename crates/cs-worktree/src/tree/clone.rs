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
use crate::parse;
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
        let settings = self.clone_settings(repository).await?;
        self.run_clone(store, &work, &settings).await?;
        let git_dir = work.join(".git");
        // A clone on the same machine has every object of the store, but for one of a shallow store.
        let look = on_clone("cat-file", &git_dir).args(["cat-file", "-e", new.head.as_str()]);
        if self.git().run(look).await?.code != 0 {
            let fetch = on_clone("fetch", &git_dir).work_tree(&work);
            let fetch = fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin"]);
            self.git().ok(fetch.arg(store::head_ref(&new.spec.card))).await?;
        }
        Ok(half)
    }

    /// Packs are hardlinked where the file system allows it. `--local` is not said: it would forbid the copy elsewhere.
    pub(crate) async fn run_clone(
        &self,
        store: &Store,
        work: &Path,
        settings: &[(&str, String)],
    ) -> Result<(), WorktreeError> {
        let clone =
            Call::new(World::Ours, "clone").args(["clone", "--quiet", "--template=", "--no-checkout"]);
        let mut clone = clone.args(["--no-tags", "--origin=origin"]).args([
            "-c",
            "remote.origin.fetch=+refs/cs-panel/base/*:refs/remotes/origin/*",
        ]);
        for (key, value) in settings {
            clone = clone.args(["-c".to_owned(), format!("{key}={value}")]);
        }
        // What the user has in their history is not ours to find fault with.
        let clone = clone.setting("transfer.fsckObjects=false").limit(COPY_LIMIT);
        self.git().ok(clone.arg(&store.dir).arg(work)).await?;
        Ok(())
    }

    /// A push from the tree goes nowhere, and the agent commits as the user does in their repository.
    pub(crate) async fn clone_settings(
        &self,
        repository: &Repository,
    ) -> Result<Vec<(&'static str, String)>, WorktreeError> {
        let identity = self.git().identity().clone();
        let ask = repository
            .call("config")
            .args(["config", "-z", "--get-regexp", r"^user\.(name|email)$"]);
        let answer = self.git().run(ask).await?;
        let of_user = |key: &str| {
            let named = parse::z_fields(&answer.stdout).filter_map(|field| {
                let value = field.strip_prefix(key.as_bytes())?.strip_prefix(b"\n")?;
                Some(value.trim_ascii().to_str_lossy().into_owned())
            });
            // Of several the last one counts.
            named.last().filter(|value| !value.is_empty())
        };
        Ok(vec![
            ("remote.origin.pushurl", "DISABLED".to_owned()),
            ("user.name", of_user("user.name").unwrap_or(identity.name)),
            ("user.email", of_user("user.email").unwrap_or(identity.email)),
        ])
    }
}
