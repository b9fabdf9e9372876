//! A card's tree: a clone with its own `.git`, made whole or not at all, found again by its identity file.

pub(crate) mod clone;
mod intake;
mod restore;

pub(crate) use clone::on_clone;
pub(crate) use intake::{bring_objects, own_directories};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::base::{BaseFrom, BaseSeen, Standing};
use crate::discard;
use crate::disk;
use crate::error::WorktreeError;
use crate::keys::{BranchName, CardKey, CodebaseKey, InvalidName, Oid};
use crate::repository::Repository;
use crate::store::{self, RefMove, Store};

use clone::NewTree;
use intake::Position;

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
    /// For a worker's tree: the card at whose tip it begins, and to which its commits come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_of: Option<CardKey>,
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
            worker_of: None,
        }
    }

    /// The tree of a card's `number`-th worker: a clone at the card's tip, with the branch `<card's branch>--<number>`.
    ///
    /// # Errors
    /// The card's names are too long to carry a number.
    pub fn for_worker(&self, number: u32) -> Result<Self, InvalidName> {
        Ok(Self {
            codebase: self.codebase.clone(),
            card: CardKey::new(format!("{}--{number}", self.card))?,
            branch: BranchName::new(format!("{}--{number}", self.branch))?,
            base_branch: self.base_branch.clone(),
            worker_of: Some(self.card.clone()),
        })
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
    /// Where the base stands.
    pub base: BaseSeen,
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

pub(crate) const TREE_FILE: &str = "tree.json";
pub(crate) const WORK_DIR: &str = "work";

impl Worktrees {
    /// Makes the card's tree, or finds the one that is there.
    ///
    /// Idempotent. A crash leaves either no tree or a whole one. A tree that is there keeps all its files, committed or
    /// not. The user's branches are fetched first, so that the tree starts from the base of this moment: the user's branch, or
    /// the remote's where that has more, [`BaseFrom::Newest`].
    ///
    /// # Errors
    /// [`WorktreeError::BaseMissing`], [`WorktreeError::BranchCollision`], [`WorktreeError::NotOurTree`],
    /// [`WorktreeError::CodebaseBusy`], or git or the disk failed.
    pub async fn prepare_tree(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
    ) -> Result<Prepared, WorktreeError> {
        self.prepare_tree_from(repository, spec, BaseFrom::Newest).await
    }

    /// The same, where the person has said which side of a base counts. It matters at the first call for a card only.
    ///
    /// # Errors
    /// As [`prepare_tree`](Self::prepare_tree).
    pub async fn prepare_tree_from(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
        from: BaseFrom,
    ) -> Result<Prepared, WorktreeError> {
        let prepared = self.prepare(repository, spec, from).await;
        prepared.map_err(|error| disk::explain(self.root(), error))
    }

    async fn prepare(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
        from: BaseFrom,
    ) -> Result<Prepared, WorktreeError> {
        let _lock = self.lock(&spec.codebase).await?;
        let store = self.store(&spec.codebase);
        store.refresh(repository).await?;
        self.refuse_collisions(repository, &spec.branch).await?;
        let (position, base) = self.stand(&store, repository, spec, from).await?;
        let dir = self.tree_dir(spec);
        self.sweep_halves(spec);
        if let Some(found) = self.find_tree(spec)? {
            discard::unmark(&dir)?;
            self.restore_git_dir(&store, repository, &found, &position.head)
                .await?;
            let person = intake::take_in(&store, &found, &position).await?;
            let head = store.card_head(&spec.card).await?;
            return Ok(Prepared {
                tree: found,
                head,
                attachment: Attachment::Reattached,
                person,
                base,
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
        let attachment = if position.is_new {
            Attachment::Created
        } else {
            Attachment::Recloned
        };
        let person = position.person_when_cloned();
        let tree = Tree {
            spec: spec.clone(),
            path: dir.join(WORK_DIR),
            base_commit: position.base,
        };
        Ok(Prepared {
            tree,
            head,
            attachment,
            person,
            base,
        })
    }

    /// Looks where the card stands and where its base does, the remote's side of it too where that counts.
    async fn stand(
        &self,
        store: &Store,
        repository: &Repository,
        spec: &TreeSpec,
        from: BaseFrom,
    ) -> Result<(Position, BaseSeen), WorktreeError> {
        let upstream = repository.upstream(self.git(), &spec.base_branch).await?;
        let standing = Standing::of(upstream.as_ref());
        let begins = upstream.as_ref().filter(|_| standing.begins_at_remote(from));
        if let Some(upstream) = begins {
            store.fetch_upstream(repository, upstream).await?;
        }
        let position = intake::position(store, spec, begins.map(|upstream| &upstream.tip)).await?;
        let behind = position.behind;
        let base = BaseSeen {
            standing,
            upstream,
            behind,
        };
        Ok((position, base))
    }

    /// Takes in what the person has committed on the card's branch in their repository, as a start does, for a card whose work is about to
    /// land. The card has to have been worked on.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git or the disk failed.
    pub async fn take_in(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
    ) -> Result<PersonCommits, WorktreeError> {
        let _lock = self.lock(&spec.codebase).await?;
        let store = self.store(&spec.codebase);
        store.refresh(repository).await?;
        let position = intake::position(&store, spec, None).await?;
        match self.find_tree(spec)? {
            Some(found) => intake::take_in(&store, &found, &position).await,
            None => {
                intake::accept(&store, &spec.card, &position).await?;
                Ok(position.person_when_cloned())
            }
        }
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
        // No key has a full stop in it: that of one codebase can begin with that of another.
        format!(".new-{}.", spec.codebase)
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
    pub(crate) async fn refuse_collisions(
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
