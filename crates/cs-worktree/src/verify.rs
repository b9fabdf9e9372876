//! Throw-away clones: what a landing is verified in, before anything moves.
//!
//! One is made from the store, with a git directory of its own, and holds the very commit that is to land. What runs there belongs
//! to nobody's tree, and all of it goes with the clone. Its directory is below `verify/` in the state directory; it goes by a
//! rename into the trash, under a name by which the next emptying of the trash finishes a deletion that was cut off.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Worktrees;
use crate::along::BroughtAlong;
use crate::discard;
use crate::error::WorktreeError;
use crate::keys::RunKey;
use crate::landing::Move;
use crate::procs;
use crate::store;
use crate::tree::WORK_DIR;
use crate::tree::clone::on_clone;
use crate::walk;

/// A throw-away clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throwaway {
    /// The root of its working tree, absolute.
    pub path: PathBuf,
    /// What came along from the user's working tree.
    pub brought: BroughtAlong,
}

impl Worktrees {
    /// Makes a throw-away clone that holds the commit of a planned move, and copies the user's ignored files that match the patterns
    /// into it. Nothing can be pushed from it. One of that name that is there already is removed first.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git or the disk failed.
    pub async fn make_throwaway(
        &self,
        landing: &Move,
        name: &RunKey,
        patterns: &[String],
    ) -> Result<Throwaway, WorktreeError> {
        let dir = self.throwaway_dir(name);
        self.remove_throwaway_dir(&dir).await?;
        let made = self.clone_throwaway(landing, &dir).await;
        let path = made.map_err(|error| crate::disk::explain(self.root(), error))?;
        let brought = self.bring_into(&landing.repository, &path, patterns).await?;
        Ok(Throwaway { path, brought })
    }

    /// Removes a throw-away clone, and says whether it is gone: one in which something still works stays. It can be done again.
    ///
    /// Slow where deleting files is slow: call it in the background.
    ///
    /// # Errors
    /// It cannot be moved. What cannot be deleted is left to the next emptying of the trash.
    pub async fn remove_throwaway(&self, name: &RunKey) -> Result<bool, WorktreeError> {
        let dir = self.throwaway_dir(name);
        if procs::works_in(&dir).is_some() {
            return Ok(false);
        }
        self.remove_throwaway_dir(&dir).await?;
        Ok(true)
    }

    /// Lists the throw-away clones that are there, by name.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn throwaways(&self) -> Result<Vec<RunKey>, WorktreeError> {
        let all = self.root().join("verify");
        let entries = match fs::read_dir(&all) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(WorktreeError::io("list", &all))?,
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<RunKey> = names
            .filter_map(|name| RunKey::new(name.into_string().ok()?).ok())
            .collect();
        names.sort();
        Ok(names)
    }

    fn throwaway_dir(&self, name: &RunKey) -> PathBuf {
        self.root().join("verify").join(name.as_str())
    }

    async fn clone_throwaway(&self, landing: &Move, dir: &Path) -> Result<PathBuf, WorktreeError> {
        let _lock = self.lock(&landing.codebase).await?;
        let store = self.store(&landing.codebase);
        fs::create_dir_all(dir).map_err(WorktreeError::io("make", dir))?;
        let work = dir.join(WORK_DIR);
        let settings = self.clone_settings(&landing.repository).await?;
        self.run_clone(&store, &work, &settings).await?;
        let git_dir = work.join(".git");
        self.have_commit(landing, &work).await?;
        let switch = on_clone("switch", &git_dir).work_tree(&work);
        let switch = switch.args(["switch", "--quiet", "--detach", landing.new.as_str()]);
        self.git().ok(switch.cwd(&work)).await?;
        Ok(work)
    }

    /// A clone on the same machine has every object of the store, but for one of a shallow store.
    async fn have_commit(&self, landing: &Move, work: &Path) -> Result<(), WorktreeError> {
        let git_dir = work.join(".git");
        let look = on_clone("cat-file", &git_dir).args(["cat-file", "-e", landing.new.as_str()]);
        if self.git().run(look).await?.code == 0 {
            return Ok(());
        }
        let fetch = on_clone("fetch", &git_dir).work_tree(work);
        let fetch = fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin"]);
        self.git()
            .ok(fetch.arg(store::land_ref(&landing.landing)))
            .await?;
        Ok(())
    }

    async fn remove_throwaway_dir(&self, dir: &Path) -> Result<(), WorktreeError> {
        if dir.symlink_metadata().is_err() {
            return Ok(());
        }
        let trash = self.root().join("trash");
        fs::create_dir_all(&trash).map_err(WorktreeError::io("make", &trash))?;
        let (dir, borders) = (dir.to_owned(), self.borders());
        walk::in_background(dir.clone(), move || discard::throw_away(&dir, &trash, borders)).await
    }
}
