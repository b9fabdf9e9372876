//! Repositories inside a tree: an agent cloned or made them there, or they are submodules.
//!
//! What they committed is fetched to `run/<run>/nested/<name>/`, where the name is made from the path. Their files become plain
//! files of the snapshot; a submodule that the tree declares stays a link, and what is uncommitted in it becomes a snapshot of
//! its own. What cannot be saved whole stays a [`Special`], and keeps the tree.

mod graft;
mod modules;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{GitError, WorktreeError};
use crate::fetch::Source;
use crate::gather::{self, Gathered, HeadSeen};
use crate::keys::{Oid, RunKey};
use crate::lfs;
use crate::parse;
use crate::path::RepoPath;
use crate::salvage;
use crate::special::Special;
use crate::staged;
use crate::status::budget::Budget;
use crate::status::{self, Inside, Look};
use crate::store::{self, Store};
use crate::tree::Tree;

pub(crate) use graft::Graft;
use place::{declared, git_dir_of, left_alone, short_name, size_of, zero};

/// Repositories inside one tree that are saved; with more of them the tree is kept.
const REPOSITORIES_MAX: usize = 200;
/// The git directory of one that is larger than this is not fetched from.
const GIT_DIR_MAX_BYTES: u64 = 1 << 30;

/// A repository inside a tree, as it was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedInside {
    /// Its path in the tree.
    pub path: RepoPath,
    /// The refs of the store below which its commits are.
    pub refs: String,
    /// For a submodule with something uncommitted: the snapshot of its files. Those of others are in the tree's snapshot.
    pub files: Option<Oid>,
}

/// What was saved of the repositories inside a tree.
#[derive(Debug, Default)]
pub(crate) struct SavedAll {
    pub(crate) inside: Vec<SavedInside>,
    /// What belongs into the snapshot of the tree itself.
    pub(crate) grafts: Vec<Graft>,
}

/// Saves every repository inside a tree, the deepest first, and takes those that are saved whole from the special things.
pub(crate) async fn save(
    store: &Store,
    tree: &Tree,
    look: &mut Look,
    run: &RunKey,
) -> Result<SavedAll, WorktreeError> {
    let mut all = look.repositories.clone();
    if all.len() > REPOSITORIES_MAX {
        return Ok(SavedAll::default());
    }
    let left_alone = left_alone(store, look, &all).await?;
    let declared = declared(store, tree).await?;
    all.sort();
    let mut saved = SavedAll::default();
    let mut waiting: BTreeMap<RepoPath, Vec<Graft>> = BTreeMap::new();
    let mut budget = std::mem::take(&mut look.budget);
    let mut gathered = BTreeSet::new();
    for path in all.iter().rev() {
        if left_alone.iter().any(|dir| path.is_within(dir)) {
            continue;
        }
        let mut job = Job::new(store, tree, look, run, path, &all);
        let grafts = waiting.remove(path).unwrap_or_default();
        let is_declared = declared.contains(path);
        gathered.extend(git_dir_of(&job.root, &tree.path).and_then(|dir| dir.canonicalize().ok()));
        let done = match job.save(grafts, is_declared, &mut budget).await {
            Ok(done) => done,
            Err(error) if is_of_git(&error) => {
                // One repository over which git stumbles must not keep the others and the tree itself from being saved.
                tracing::warn!(%path, %error, "a repository inside a tree cannot be saved");
                let unsaved = job.unsaved(is_declared);
                look.special.push(unsaved);
                continue;
            }
            Err(error) => return Err(error),
        };
        saved.inside.push(done.saved);
        name_left(look, path, done.left);
        if let Some(graft) = done.graft {
            match enclosing(path, &all) {
                Some(outer) => waiting
                    .entry(outer.clone())
                    .or_default()
                    .push(graft.seen_from(outer)),
                None => saved.grafts.push(graft),
            }
        }
    }
    modules::save(store, tree, look, run, &gathered, &mut saved).await?;
    saved.inside.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(saved)
}

/// Takes a repository that was saved whole from the special things, or says what was left of it.
fn name_left(look: &mut Look, path: &RepoPath, left: Vec<Special>) {
    if left.is_empty() {
        let named = [
            Special::NestedRepository(path.clone()),
            Special::Submodule(path.clone()),
        ];
        look.special.retain(|special| !named.contains(special));
    }
    look.special.extend(left);
}

/// The nearest of the repositories in which this one lies; `None` for the tree itself.
fn enclosing<'a>(path: &RepoPath, all: &'a [RepoPath]) -> Option<&'a RepoPath> {
    path.parents()
        .find_map(|parent| all.iter().find(|other| **other == parent))
}

/// Whether git ran and could not do it, rather than that it could not be run at all.
fn is_of_git(error: &WorktreeError) -> bool {
    matches!(error, WorktreeError::Git(error) if !matches!(error, GitError::Start { .. }))
}

struct Job<'a> {
    store: &'a Store,
    tree: &'a Tree,
    path: &'a RepoPath,
    run: &'a RunKey,
    root: PathBuf,
    under: String,
    inner: Vec<RepoPath>,
    outer: &'a Look,
}

struct Done {
    saved: SavedInside,
    graft: Option<Graft>,
    left: Vec<Special>,
}

impl<'a> Job<'a> {
    fn new(
        store: &'a Store,
        tree: &'a Tree,
        outer: &'a Look,
        run: &'a RunKey,
        path: &'a RepoPath,
        all: &[RepoPath],
    ) -> Self {
        let inner = all.iter().filter(|other| *other != path);
        let inner = inner.filter_map(|other| other.relative_to(path));
        Self {
            root: path.below(&tree.path),
            under: store::run_ref(run, &format!("nested/{}/", short_name(path))),
            inner: inner.collect(),
            store,
            tree,
            path,
            run,
            outer,
        }
    }

    async fn save(
        &mut self,
        grafts: Vec<Graft>,
        is_declared: bool,
        budget: &mut Budget,
    ) -> Result<Done, WorktreeError> {
        let git_dir = git_dir_of(&self.root, &self.tree.path);
        let mut left = Vec::new();
        let head = match &git_dir {
            None => None,
            Some(git_dir) => {
                let gathered = self.gather(git_dir).await?;
                let has_lfs = lfs::take_objects(self.store, git_dir).await?;
                if !gathered.is_whole() || !has_lfs {
                    left.push(self.unsaved(is_declared));
                }
                match gathered.head {
                    HeadSeen::At(commit) => Some(commit),
                    HeadSeen::Unborn | HeadSeen::Unreadable => None,
                }
            }
        };
        // What could not be fetched from is not read from either; it keeps the tree.
        let readable = git_dir.as_ref().filter(|_| left.is_empty());
        let objects = readable.map(|dir| Source::at(dir.clone()).objects());
        let inside = Inside {
            root: self.root.clone(),
            git_dir,
            head,
            repositories: self.inner.clone(),
            unread: self.outer.unread,
            zero: zero(&self.outer.parent),
        };
        let mut look = status::look_inside(self.store, inside, budget).await?;
        self.add_outer_files(&mut look).await?;
        let changed = !look.entries.is_empty() || !grafts.is_empty();
        let object = salvage::snapshot(self.store, &mut look, &grafts).await?;
        if let Some(objects) = &objects {
            staged::save(self.store, &mut look, objects, &format!("{}index", self.under)).await?;
        }
        left.extend(self.named(&mut look).await?);
        let files = if is_declared && changed {
            Some(self.keep_files(&look, &object).await?)
        } else {
            None
        };
        let graft = if is_declared {
            None
        } else {
            Some(Graft::of(self.store, &look, self.path).await?)
        };
        let saved = SavedInside {
            path: self.path.clone(),
            refs: self.under.trim_end_matches('/').to_owned(),
            files,
        };
        Ok(Done { saved, graft, left })
    }

    fn unsaved(&self, is_declared: bool) -> Special {
        if is_declared {
            Special::Submodule(self.path.clone())
        } else {
            Special::NestedRepository(self.path.clone())
        }
    }

    /// Fetches what it committed.
    async fn gather(&self, git_dir: &Path) -> Result<Gathered, WorktreeError> {
        if size_of(git_dir) > GIT_DIR_MAX_BYTES {
            return Ok(Gathered::nothing());
        }
        gather::gather(self.store, &Source::at(git_dir.to_owned()), &self.under).await
    }

    /// Files that the enclosing repository tracks are saved although this one ignores them.
    async fn add_outer_files(&self, look: &mut Look) -> Result<(), WorktreeError> {
        let list = self
            .outer
            .call(self.store, "ls-files")
            .args(["ls-files", "-z", "--"]);
        let tracked = self.store.git.ok(list.arg(self.path.to_os_str())).await?;
        let own = look.call(self.store, "ls-files").args(["ls-files", "-z"]);
        let own = self.store.git.ok(own).await?;
        let mut known: BTreeSet<RepoPath> = parse::z_paths(&own).into_iter().collect();
        known.extend(look.entries.iter().map(|entry| entry.path.clone()));
        for path in parse::z_paths(&tracked) {
            let Some(path) = path.relative_to(self.path) else {
                continue;
            };
            let file = path.below(&self.root).symlink_metadata();
            let hidden = self.inner.iter().any(|inner| path.is_within(inner));
            if file.is_ok_and(|m| !m.is_dir()) && !hidden && !known.contains(&path) {
                look.add_untracked(path);
            }
        }
        Ok(())
    }

    /// What is special in it, and what could not be saved, with paths from the root of the tree.
    async fn named(&self, look: &mut Look) -> Result<Vec<Special>, WorktreeError> {
        salvage::name_unsaved(self.store, look).await?;
        let inside = |special: Special| special.inside(self.path);
        Ok(look.special.drain(..).map(inside).collect())
    }

    async fn keep_files(&self, look: &Look, object: &Oid) -> Result<Oid, WorktreeError> {
        let message = format!(
            "salvage: files of the submodule {}\n\nCs-Panel-Card: {}\nCs-Panel-Run: {}\n",
            self.path, self.tree.spec.card, self.run
        );
        let mut commit = self
            .store
            .call("commit-tree")
            .args(["commit-tree", object.as_str()]);
        if let Some(head) = &look.head {
            commit = commit.args(["-p", head.as_str()]);
        }
        let made = self.store.git.ok(commit.stdin(message)).await?;
        let commit = parse::oid("commit-tree", &made)?;
        let (_, kept) = salvage::keep(
            self.store,
            &format!("{}salvage", self.under),
            &commit,
            look.head.as_ref(),
        )
        .await?;
        Ok(kept)
    }
}
