//! What is uncommitted in a tree, seen with our own git directory.
//!
//! The tree's HEAD is fetched into the store, read into a temporary index, and the tree's files are compared with that.
//! The tree's own index is used as data only: for conflicts and for the files that a sparse checkout leaves out.

pub(crate) mod budget;
mod filtered;
mod links;
mod own_index;
pub(crate) mod rules;
pub(crate) mod seed;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::busy;
use crate::error::{GitError, WorktreeError};
use crate::fetch::{self, Readable, Source, fetch_from};
use crate::keys::Oid;
use crate::lfs;
use crate::parse::{self, GITLINK, IndexEntry};
use crate::path::RepoPath;
use crate::runner::Call;
use crate::special::Special;
use crate::status::budget::{Budget, FILES_MAX, find_unsavable};
use crate::status::rules::Rules;
use crate::store::Store;
use crate::tree::Tree;
use crate::walk::{self, Unread};

pub(crate) use filtered::find_filtered;

/// What is uncommitted in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeStatus {
    /// Changed and new files, sorted by path. Ignored files are not among them.
    pub entries: Vec<StatusEntry>,
    /// What a snapshot cannot carry whole.
    pub special: Vec<Special>,
}

/// One uncommitted path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StatusEntry {
    /// The path in the tree.
    pub path: RepoPath,
    /// What happened to it.
    pub kind: EntryKind,
}

/// What happened to a path since the commit that the tree stands on, staged or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Other content or another mode.
    Modified,
    /// Gone.
    Deleted,
    /// New.
    Untracked,
}

impl TreeStatus {
    /// Whether there is nothing uncommitted and nothing special.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.entries.is_empty() && self.special.is_empty()
    }
}

impl Worktrees {
    /// Says what is uncommitted in a tree. Writes nothing in the tree; nothing of the tree's configuration runs.
    ///
    /// # Errors
    /// Git or the disk failed. A broken `.git` in the tree is no error: it is among the [`Special`]s.
    pub async fn status(&self, tree: &Tree) -> Result<TreeStatus, WorktreeError> {
        let _lock = self.lock(&tree.spec.codebase).await?;
        let look = look(&self.store(&tree.spec.codebase), tree).await?;
        Ok(TreeStatus {
            entries: look.entries,
            special: look.special,
        })
    }
}

/// A look at the files of a tree, or of a repository inside it, with the temporary index that it was made with.
#[derive(Debug)]
pub(crate) struct Look {
    temp: tempfile::TempDir,
    /// The directory with the files.
    root: PathBuf,
    /// The HEAD; `None` when it cannot be read.
    pub(crate) head: Option<Oid>,
    /// The commit that the files were compared with: HEAD, else the card's head; all zeros for a repository inside the tree
    /// that has no commit.
    pub(crate) parent: Oid,
    pub(crate) entries: Vec<StatusEntry>,
    pub(crate) special: Vec<Special>,
    /// Nested repositories and submodules: nothing below them is an entry.
    pub(crate) repositories: Vec<RepoPath>,
    /// Files that a sparse checkout leaves out.
    sparse: BTreeSet<RepoPath>,
    /// What the repository's own index has and its commit has not: only there until it is committed.
    pub(crate) staged: Vec<IndexEntry>,
    /// What is committed in the place of files that go through LFS.
    pub(crate) pointers: BTreeMap<RepoPath, lfs::Noted>,
    /// Files whose content is the one that their committed pointer names.
    unchanged: BTreeSet<RepoPath>,
    /// The files `.gitignore` of the tree and of the repositories inside it.
    pub(crate) ignore_files: Vec<RepoPath>,
    /// Rules that git must not read in their place.
    pub(crate) unread: Unread,
    /// Where those are ignore files: the arguments by which `git ls-files` takes the rules of the parent.
    own_rules: Option<Vec<OsString>>,
    /// This git cannot be kept from reading attributes that it must not read: nothing is known of the files.
    pub(crate) files_unread: bool,
    /// What the files of the tree itself have taken of the limits; the repositories inside it come after them.
    pub(crate) budget: Budget,
}

impl Look {
    pub(crate) fn index(&self) -> PathBuf {
        self.temp.path().join("index")
    }

    /// A copy of the repository's own index, where it has one that can be read.
    pub(crate) fn own_index(&self) -> PathBuf {
        self.temp.path().join("own-index")
    }

    /// A call with our git directory, the files and the temporary index.
    pub(crate) fn call(&self, store: &Store, op: &'static str) -> Call {
        let call = store
            .call(op)
            .work_tree(&self.root)
            .index(&self.index())
            .cwd(&self.root);
        match (self.unread.attributes, self.base()) {
            (false, _) => call,
            (true, Some(base)) => call.attributes_of(base.as_str()),
            (true, None) => call.attributes_of(self.parent.empty_tree()),
        }
    }

    /// The arguments by which `git ls-files` knows what is ignored.
    pub(crate) fn excludes(&self) -> Vec<OsString> {
        let standard = || vec!["--exclude-standard".into()];
        self.own_rules.clone().unwrap_or_else(standard)
    }

    pub(crate) fn takes_own_rules(&self) -> bool {
        self.own_rules.is_some()
    }

    /// A file that goes with the look.
    pub(crate) fn temp_file(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Sees to it that git need not read rules that it must not read.
    async fn take_own_rules(&mut self, store: &Store) -> Result<(), WorktreeError> {
        if self.unread.ignore {
            let rules = match self.base() {
                Some(base) => Rules::of(store, base).await?,
                None => Rules::default(),
            };
            self.own_rules = Some(rules.write(store, &self.temp_file("own-rules"))?);
        }
        if self.unread.attributes && !store.git.can_take_attributes().await? {
            self.files_unread = true;
        }
        Ok(())
    }
}

/// Looks at a tree. The caller holds the lock of the codebase.
pub(crate) async fn look(store: &Store, tree: &Tree) -> Result<Look, WorktreeError> {
    let head = fetch_head(store, tree).await?;
    let parent = match &head {
        Some(head) => head.clone(),
        None => store.card_head(&tree.spec.card).await?,
    };
    let found = walk::survey(&tree.path).await?;
    let mut look = Look {
        temp: store.temp_dir()?,
        root: tree.path.clone(),
        head,
        parent,
        entries: Vec::new(),
        special: found.special,
        repositories: found.repositories,
        sparse: BTreeSet::new(),
        staged: Vec::new(),
        pointers: BTreeMap::new(),
        unchanged: BTreeSet::new(),
        ignore_files: found.ignore_files,
        unread: found.unread,
        own_rules: None,
        files_unread: false,
        budget: Budget::default(),
    };
    look.take_own_rules(store).await?;
    look.special.extend(walk::beside(&tree.path));
    if look.head.is_none() {
        look.special.push(Special::HeadUnreadable);
    }
    seed::take(store, &tree.spec.card, &look.index());
    let read = look
        .call(store, "read-tree")
        .args(["read-tree", "-m", look.parent.as_str()]);
    if store.git.run(read).await?.code != 0 {
        seed::forget(store, &tree.spec.card);
        drop(fs::remove_file(look.index()));
        let read = look
            .call(store, "read-tree")
            .args(["read-tree", look.parent.as_str()]);
        store.git.ok(read).await?;
    }
    let committed = entries(store, &look).await?;
    links::name(&mut look, &committed);
    look.special.extend(
        busy::under_way(&tree.path.join(".git"))
            .into_iter()
            .map(Special::UnderWay),
    );
    let mut budget = Budget::default();
    look.fill(store, &tree.path.join(".git"), &committed, &mut budget)
        .await?;
    look.budget = budget;
    seed::keep(store, &tree.spec.card, &look.index());
    Ok(look)
}

/// A repository inside a tree.
#[derive(Debug)]
pub(crate) struct Inside {
    /// The directory with its files.
    pub(crate) root: PathBuf,
    /// Its git directory, where it has one.
    pub(crate) git_dir: Option<PathBuf>,
    /// Its HEAD in the store.
    pub(crate) head: Option<Oid>,
    /// The repositories inside it.
    pub(crate) repositories: Vec<RepoPath>,
    /// The name that stands for no object.
    pub(crate) zero: Oid,
    /// Rules that git must not read in their place.
    pub(crate) unread: Unread,
}

/// Looks at a repository inside a tree. Its special files are those of the tree: they are not looked for again.
pub(crate) async fn look_inside(
    store: &Store,
    inside: Inside,
    budget: &mut Budget,
) -> Result<Look, WorktreeError> {
    let mut look = Look {
        temp: store.temp_dir()?,
        root: inside.root,
        parent: inside.head.clone().unwrap_or(inside.zero),
        head: inside.head,
        entries: Vec::new(),
        special: Vec::new(),
        repositories: inside.repositories,
        sparse: BTreeSet::new(),
        staged: Vec::new(),
        pointers: BTreeMap::new(),
        unchanged: BTreeSet::new(),
        ignore_files: Vec::new(),
        unread: inside.unread,
        own_rules: None,
        files_unread: false,
        budget: Budget::default(),
    };
    look.take_own_rules(store).await?;
    let seed = match &look.head {
        Some(head) => head.as_str(),
        None => "--empty",
    };
    let read = look.call(store, "read-tree").args(["read-tree", seed]);
    if fetch::answered(store.git.ok(read).await)?.is_none() {
        // Its commit has paths that no index takes: all of its files are saved as new ones.
        look.head = None;
        look.special.push(Special::HeadUnreadable);
        drop(fs::remove_file(look.index()));
        let read = look.call(store, "read-tree").args(["read-tree", "--empty"]);
        store.git.ok(read).await?;
    }
    let git_dir = inside.git_dir.unwrap_or_else(|| look.root.join(".git"));
    let committed = entries(store, &look).await?;
    look.special
        .extend(busy::under_way(&git_dir).into_iter().map(Special::UnderWay));
    look.fill(store, &git_dir, &committed, budget).await?;
    Ok(look)
}

/// Fetches the tree's HEAD into the store; `None` when it cannot be read. The caller holds the lock of the codebase.
pub(crate) async fn fetch_head(store: &Store, tree: &Tree) -> Result<Option<Oid>, WorktreeError> {
    let name = format!("refs/cs-panel/card/{}/seen", tree.spec.card);
    let source = Source::of(tree);
    match source.readable(store).await? {
        Readable::No | Readable::PartialClone => return Ok(None),
        Readable::Partly | Readable::Whole => {}
    }
    // Git may refuse the new value without a word: what is there afterwards is new.
    let forget = store
        .call("update-ref")
        .args(["update-ref", "--no-deref", "-d", &name]);
    store.git.ok(forget).await?;
    fetch_from(store, &source, &[format!("+HEAD:{name}")]).await?;
    store.commit(&name).await
}

/// What is in the temporary index of a look: at its beginning what is committed, after a snapshot what that holds.
pub(crate) async fn entries(store: &Store, look: &Look) -> Result<Vec<IndexEntry>, WorktreeError> {
    let list = look.call(store, "ls-files").args(["ls-files", "-v", "-s", "-z"]);
    Ok(parse::index_entries(&store.git.ok(list).await?)?)
}

/// Compares the files with the temporary index.
pub(crate) async fn compare(store: &Store, look: &Look) -> Result<Vec<StatusEntry>, WorktreeError> {
    if look.files_unread {
        return Ok(Vec::new());
    }
    let refresh = look
        .call(store, "update-index")
        .args(["update-index", "-q", "--really-refresh"]);
    // Its exit code only says whether something differs.
    store.git.run(refresh).await?;
    let diff = look.call(store, "diff-files");
    // Otherwise git runs `git status` in a repository inside the tree, by that repository's own configuration.
    let diff = diff.args([
        "diff-files",
        "--ignore-submodules=dirty",
        "--raw",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
    ]);
    let mut entries = Vec::new();
    for change in parse::raw_diff("diff-files", &store.git.ok(diff).await?)? {
        let is_link = change.old_mode == GITLINK && change.new_mode == GITLINK;
        if is_link || look.hides(&change.path, change.is_deleted()) {
            continue;
        }
        let kind = if change.is_deleted() {
            EntryKind::Deleted
        } else {
            EntryKind::Modified
        };
        entries.push(StatusEntry {
            path: change.path,
            kind,
        });
    }
    let others = look.call(store, "ls-files").args(["ls-files", "-o", "-z"]);
    for path in parse::z_paths(&store.git.ok(others.args(look.excludes())).await?) {
        if !path.as_bytes().ends_with(b"/") && !look.hides(&path, false) {
            entries.push(StatusEntry {
                path,
                kind: EntryKind::Untracked,
            });
        }
    }
    entries.sort();
    Ok(entries)
}

impl Look {
    /// Finds what is uncommitted, once the temporary index holds what is committed.
    async fn fill(
        &mut self,
        store: &Store,
        git_dir: &Path,
        committed: &[IndexEntry],
        budget: &mut Budget,
    ) -> Result<(), WorktreeError> {
        own_index::read(store, git_dir, self, committed).await?;
        links::open(store, self, committed).await?;
        self.entries = match compare(store, self).await {
            Err(WorktreeError::Git(GitError::OverCap { .. })) => {
                self.special.push(Special::TooMany { files: FILES_MAX + 1 });
                Vec::new()
            }
            compared => compared?,
        };
        let present: Vec<RepoPath> = self.present().cloned().collect();
        find_filtered(store, self, &present).await?;
        find_unsavable(self, budget);
        self.special.sort();
        self.special.dedup();
        Ok(())
    }

    /// The directory with the files.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Notes what is committed in the place of a file.
    pub(crate) fn note_pointer(&mut self, path: RepoPath, pointer: lfs::Noted) {
        self.pointers.insert(path, pointer);
    }

    /// Notes that a file is what its committed pointer names.
    pub(crate) fn note_unchanged(&mut self, path: RepoPath) {
        self.entries.retain(|entry| entry.path != path);
        self.unchanged.insert(path);
    }

    pub(crate) fn hides(&self, path: &RepoPath, deleted: bool) -> bool {
        if !deleted && (self.pointers.contains_key(path) || self.unchanged.contains(path)) {
            return true;
        }
        deleted && self.sparse.contains(path) || self.repositories.iter().any(|r| path.is_within(r))
    }

    /// Adds a file that nothing tracks here.
    pub(crate) fn add_untracked(&mut self, path: RepoPath) {
        let kind = EntryKind::Untracked;
        self.entries.push(StatusEntry { path, kind });
    }

    fn present(&self) -> impl Iterator<Item = &RepoPath> {
        self.entries
            .iter()
            .filter(|e| e.kind != EntryKind::Deleted)
            .map(|e| &e.path)
    }
}
