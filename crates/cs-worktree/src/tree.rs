//! A card's tree: a clone with its own `.git`, made whole or not at all, found again by its identity file.

mod intake;
mod restore;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::error::WorktreeError;
use crate::keys::{BranchName, CardKey, CodebaseKey, Oid};
use crate::repository::Repository;
use crate::runner::{COPY_LIMIT, Call, World};
use crate::store::{self, RefMove, Store};

/// Which tree is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSpec {
    /// The codebase.
    pub codebase: CodebaseKey,
    /// The card.
    pub card: CardKey,
    /// The card's branch, in the tree and in the user's repository.
    pub branch: BranchName,
    /// The user's branch that the card starts from and lands on.
    pub base_branch: BranchName,
}

impl TreeSpec {
    /// A card with a branch of its usual name, [`BranchName::for_card`].
    #[must_use]
    pub fn new(codebase: CodebaseKey, card: CardKey, title: &str, base_branch: BranchName) -> Self {
        Self {
            codebase,
            branch: BranchName::for_card(&card, title),
            card,
            base_branch,
        }
    }
}

/// A card's tree on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Which tree it is.
    pub spec: TreeSpec,
    /// The root of the working tree, absolute.
    pub path: PathBuf,
    /// The commit of the base branch from which the card began.
    pub base_commit: Oid,
}

/// A tree that is ready for an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The tree.
    pub tree: Tree,
    /// Where the card stands: the commit that the next attempt starts from.
    pub head: Oid,
    /// How the tree came to be there.
    pub attachment: Attachment,
    /// What became of commits that the person made on the card's branch.
    pub person: PersonCommits,
}

/// How a tree came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// The card's first tree.
    Created,
    /// The tree was there, with whatever it held.
    Reattached,
    /// The card had commits but no tree here: cloned again at the card's head.
    Recloned,
}

/// What became of commits that the person made on the card's branch in their repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonCommits {
    /// There were none.
    None,
    /// They are in the tree now.
    Taken {
        /// Number of commits.
        count: usize,
    },
    /// The tree has uncommitted files or is not on the card's head; they wait for a later start.
    Waiting {
        /// Number of commits.
        count: usize,
    },
    /// They do not fast-forward the card's head; nothing was taken in.
    Diverged,
}

/// What is written beside a tree: it says whose tree it is.
#[derive(Debug, Serialize, Deserialize)]
struct TreeFile {
    version: u32,
    spec: TreeSpec,
    base_commit: Oid,
}

const TREE_FILE: &str = "tree.json";
const WORK_DIR: &str = "work";

impl Worktrees {
    /// Makes the card's tree, or finds the one that is there.
    ///
    /// Idempotent. A crash leaves either no tree or a whole one. A tree that is there keeps all its files, committed or
    /// not. The user's branches are fetched first, so that the tree starts from the base of this moment.
    ///
    /// # Errors
    /// [`WorktreeError::BaseMissing`], [`WorktreeError::BranchCollision`], [`WorktreeError::NotOurTree`],
    /// [`WorktreeError::CodebaseBusy`], or git or the disk failed.
    pub async fn prepare_tree(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
    ) -> Result<Prepared, WorktreeError> {
        let _lock = self.lock(&spec.codebase).await?;
        let store = self.store(&spec.codebase);
        store.refresh(repository).await?;
        self.refuse_collisions(repository, &spec.branch).await?;
        let position = intake::position(&store, spec).await?;
        let dir = self.tree_dir(spec);
        self.sweep_halves(spec);
        if let Some(found) = self.find_tree(spec)? {
            self.restore_git_dir(&store, repository, &found, &position.head)
                .await?;
            let person = intake::take_in(&store, &found, &position).await?;
            let head = store.card_head(&spec.card).await?;
            return Ok(Prepared {
                tree: found,
                head,
                attachment: Attachment::Reattached,
                person,
            });
        }
        let head = intake::accept(&store, &spec.card, &position).await?;
        clear_remains(&dir)?;
        self.clone_tree(
            &store,
            repository,
            &dir,
            NewTree {
                spec,
                head: &head,
                base: &position.base,
            },
        )
        .await?;
        let tree = Tree {
            spec: spec.clone(),
            path: dir.join(WORK_DIR),
            base_commit: position.base.clone(),
        };
        let attachment = if position.is_new {
            Attachment::Created
        } else {
            Attachment::Recloned
        };
        Ok(Prepared {
            tree,
            head,
            attachment,
            person: position.person_when_cloned(),
        })
    }

    /// Finds the card's tree without touching anything; `None` when it is not on this machine, also when somebody removed it
    /// and left only the file that says whose it was.
    ///
    /// # Errors
    /// [`WorktreeError::NotOurTree`]: something else stands in its place.
    pub fn find_tree(&self, spec: &TreeSpec) -> Result<Option<Tree>, WorktreeError> {
        let dir = self.tree_dir(spec);
        if dir.symlink_metadata().is_err() {
            return Ok(None);
        }
        let foreign = || WorktreeError::NotOurTree { path: dir.clone() };
        if is_empty(&dir) {
            return Ok(None);
        }
        let text = fs::read(dir.join(TREE_FILE)).map_err(|_| foreign())?;
        let file: TreeFile = serde_json::from_slice(&text).map_err(|_| foreign())?;
        let path = dir.join(WORK_DIR);
        let found = path.symlink_metadata();
        let is_gone = found
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if file.spec != *spec || !(is_gone || found.is_ok_and(|m| m.is_dir())) {
            return Err(foreign());
        }
        if is_gone {
            return Ok(None);
        }
        Ok(Some(Tree {
            spec: file.spec,
            path,
            base_commit: file.base_commit,
        }))
    }

    /// How many commits the base, as last fetched, has that the card does not have.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`], [`WorktreeError::BaseMissing`], or git failed.
    pub async fn behind_base(&self, spec: &TreeSpec) -> Result<usize, WorktreeError> {
        let store = self.store(&spec.codebase);
        let head = store.card_head(&spec.card).await?;
        let base = store.commit(&store::base_ref(&spec.base_branch)).await?;
        let base = base.ok_or_else(|| WorktreeError::BaseMissing {
            branch: spec.base_branch.clone(),
        })?;
        store.count(&head, &base).await
    }

    /// The directory that holds the tree and the file that says whose it is.
    pub(crate) fn tree_dir(&self, spec: &TreeSpec) -> PathBuf {
        self.root()
            .join("cards")
            .join(spec.card.as_str())
            .join(spec.codebase.as_str())
    }

    fn half_prefix(spec: &TreeSpec) -> String {
        format!(".new-{}-", spec.codebase)
    }

    /// Removes what a crash in an earlier clone left. The lock of the codebase is held, so no clone is under way.
    fn sweep_halves(&self, spec: &TreeSpec) {
        let dir = self.root().join("cards").join(spec.card.as_str());
        let Ok(entries) = fs::read_dir(&dir) else { return };
        for entry in entries.flatten() {
            if entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(Self::half_prefix(spec).as_bytes())
            {
                tracing::warn!(half = %entry.path().display(), "removing a half-made tree");
                if let Err(error) = fs::remove_dir_all(entry.path()) {
                    tracing::warn!(half = %entry.path().display(), %error, "the half-made tree stays");
                }
            }
        }
    }

    /// A branch `cs` forbids `cs/x`, `cs/x/y` forbids `cs/x`, and some file systems know no upper and lower case.
    async fn refuse_collisions(
        &self,
        repository: &Repository,
        branch: &BranchName,
    ) -> Result<(), WorktreeError> {
        let list = repository.call("for-each-ref").args([
            "for-each-ref",
            "--format=%(refname:lstrip=2)",
            "refs/heads",
        ]);
        let names = self.git().ok(list).await?;
        let wanted = branch.as_str().to_lowercase();
        for name in names.lines() {
            let name = name.to_str_lossy();
            let other = name.to_lowercase();
            let inside = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
            let twin = other == wanted && name != branch.as_str();
            if twin || inside(&wanted, &other) || inside(&other, &wanted) {
                return Err(WorktreeError::BranchCollision {
                    branch: branch.clone(),
                    existing: name.into_owned(),
                });
            }
        }
        Ok(())
    }

    async fn clone_tree(
        &self,
        store: &Store,
        repository: &Repository,
        dir: &Path,
        new: NewTree<'_>,
    ) -> Result<(), WorktreeError> {
        let half = self.bare_clone(store, repository, &new).await?;
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
        let file = TreeFile {
            version: 1,
            spec: new.spec.clone(),
            base_commit: new.base.clone(),
        };
        crate::disk::write_json(&half.path().join(TREE_FILE), &file)?;
        fs::rename(half.path(), dir).map_err(WorktreeError::io("put in place", dir))?;
        // The directory has its final name: there is nothing left to clean up.
        drop(half.keep());
        Ok(())
    }

    /// Clones the store into a directory beside the tree's place: a git directory that knows the card's head, and no files.
    async fn bare_clone(
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
    async fn run_clone(&self, store: &Store, work: &Path) -> Result<(), WorktreeError> {
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

/// A call on a clone that nobody but us has written.
fn on_clone(op: &'static str, git_dir: &Path) -> Call {
    let call = Call::new(World::Ours, op).git_dir(git_dir);
    // What the user has in their history is not ours to find fault with.
    call.setting("transfer.fsckObjects=false").limit(COPY_LIMIT)
}

struct NewTree<'a> {
    spec: &'a TreeSpec,
    head: &'a Oid,
    base: &'a Oid,
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Removes the file of a tree that is gone, so that a new one can take its place. Anything else stays, and forbids that.
fn clear_remains(dir: &Path) -> Result<(), WorktreeError> {
    let file = dir.join(TREE_FILE);
    match fs::remove_file(&file) {
        Ok(()) => {
            tracing::warn!(dir = %dir.display(), "somebody removed the tree of a card; it is made again")
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(WorktreeError::io("remove", &file)(error)),
    }
    match fs::remove_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(WorktreeError::NotOurTree { path: dir.to_owned() })
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WorktreeError::io("remove", dir)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes a ref that must not exist, or finds it with the wanted value.
async fn make_ref(store: &Store, name: &str, value: &Oid) -> Result<(), WorktreeError> {
    match store.move_ref(name, value, None).await? {
        RefMove::Moved => Ok(()),
        RefMove::Stale => Err(WorktreeError::Corrupt {
            what: format!("{name} appeared under our lock"),
        }),
    }
}
