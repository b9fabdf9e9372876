//! Saves what is uncommitted, before anything that could lose it.
//!
//! The snapshot is a commit on a ref that is made once and never moved. It is read back and compared with the tree. What it
//! cannot carry is named in a manifest, and then the directory is kept. The tree's index, HEAD and files are not touched.

use std::path::PathBuf;

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::borders::Border;
use crate::discard::DiscardProof;
use crate::disk;
use crate::error::{GitError, WorktreeError};
use crate::fetch::Source;
use crate::gather::{self, HeadSeen, History};
use crate::ignored::{self, Hidden};
use crate::inside::{self, Graft};
use crate::keys::{Oid, RunKey};
use crate::lfs;
use crate::manifest::{self, Manifest};
use crate::parse;
use crate::path::RepoPath;
use crate::plain;
use crate::runner::COPY_LIMIT;
use crate::special::Special;
use crate::staged;
use crate::status::{self, EntryKind, Look};
use crate::store::{self, RefMove, Store};
use crate::tree::Tree;
use crate::walk;

/// Snapshots under one run key, at most.
const SNAPSHOTS_MAX: u32 = 64;
/// Files that git refuses one by one before we stop trying.
const REFUSED_MAX: usize = 50;
/// From so many files on their contents are written as one pack: a file for each, and its way to the disk, costs several times as much.
const PACKED_MIN: usize = 100;
/// It has a line for each head that is merged.
const MERGE_HEAD_MAX_BYTES: u64 = 64 << 10;

/// A salvage that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// The ref in the store that holds the snapshot; `None` when there was nothing uncommitted to hold but in submodules or
    /// in the index alone.
    pub reference: Option<String>,
    /// The snapshot.
    pub commit: Option<Oid>,
    /// The manifest, a JSON file in our state directory.
    pub manifest: PathBuf,
    /// Whether the tree holds anything that the store does not.
    pub completeness: Completeness,
    proof: Option<DiscardProof>,
}

/// Whether a tree holds anything that the store does not. Ignored files do not count: they never enter git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// Everything uncommitted is in the snapshot, or beside it where no file has it.
    Complete,
    /// Some of it is not, for these reasons: the directory must be kept.
    Partial(Vec<Special>),
    /// There was nothing uncommitted; all commits are in the store.
    Nothing,
}

impl Salvage {
    /// The proof that the tree may go; `None` when the salvage is partial.
    #[must_use]
    pub fn proof(&self) -> Option<&DiscardProof> {
        self.proof.as_ref()
    }
}

impl Worktrees {
    /// Saves everything of a tree that is not in the store yet. `reason` is a whole clause for the commit's subject.
    ///
    /// The caller has proof that nothing runs in the tree any more. Idempotent: an equal snapshot under the same run key is
    /// found again. The snapshot's ref is made before this returns, and never moved.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`], [`WorktreeError::CodebaseBusy`], or git or the disk failed: then nothing may be removed.
    pub async fn salvage(&self, tree: &Tree, run: &RunKey, reason: &str) -> Result<Salvage, WorktreeError> {
        let saved = self.save_tree(tree, run, reason).await;
        saved.map_err(|error| disk::explain(self.root(), error))
    }

    async fn save_tree(&self, tree: &Tree, run: &RunKey, reason: &str) -> Result<Salvage, WorktreeError> {
        let _lock = self.lock(&tree.spec.codebase).await?;
        let store = self.store(&tree.spec.codebase);
        match self.save_whole(&store, tree, run, reason).await {
            // What was gathered before is kept, and the tree too.
            Err(WorktreeError::Git(GitError::OverCap { op, .. })) => {
                note_too_much(&store, tree, run, reason, op).await
            }
            saved => saved,
        }
    }

    async fn save_whole(
        &self,
        store: &Store,
        tree: &Tree,
        run: &RunKey,
        reason: &str,
    ) -> Result<Salvage, WorktreeError> {
        let before = walk::fingerprint(&tree.path).await?;
        let mut look = self.gather_and_look(store, tree, run).await?;
        self.reach(Border::Looked);
        let inside = inside::save(store, tree, &mut look, run).await?;
        self.reach(Border::InsideSaved);
        let hidden = ignored::unhide(store, tree, &mut look).await?;
        let entries = look.entries.clone();
        let asked = Asked {
            run,
            reason,
            grafts: &inside.grafts,
        };
        let saved = if entries.is_empty() && inside.grafts.is_empty() {
            None
        } else {
            Some(self.save(store, tree, &mut look, &asked).await?)
        };
        let index = self.save_index(store, tree, &mut look, run).await?;
        self.reach(Border::IndexSaved);
        if walk::fingerprint(&tree.path).await? != before {
            look.special.push(Special::ChangedMeanwhile);
        }
        look.special.sort();
        look.special.dedup();
        let has_some =
            saved.is_some() || index.is_some() || inside.inside.iter().any(|inside| inside.files.is_some());
        let completeness = completeness(&look, has_some);
        let ignored = ignored::list(store, &look).await?;
        let (reference, commit) = saved.unzip();
        let manifest = Manifest {
            version: manifest::VERSION,
            card: tree.spec.card.clone(),
            run: run.clone(),
            reason: reason.to_owned(),
            reference: reference.clone(),
            commit: commit.clone(),
            parent: look.parent.clone(),
            files: entries,
            inside: inside.inside,
            index,
            completeness: completeness.clone(),
            ignored_count: ignored.count,
            ignored: ignored.named,
            ignored_cut: ignored.is_cut,
            hidden,
        };
        let place = manifest.write(store)?;
        self.reach(Border::ManifestWritten);
        let whole = !matches!(completeness, Completeness::Partial(_));
        let proof = whole.then(|| DiscardProof::new(tree, before, &manifest));
        Ok(Salvage {
            reference,
            commit,
            manifest: place,
            completeness,
            proof,
        })
    }

    /// Saves what is staged only, where the tree's git directory can be read at all.
    async fn save_index(
        &self,
        store: &Store,
        tree: &Tree,
        look: &mut Look,
        run: &RunKey,
    ) -> Result<Option<String>, WorktreeError> {
        if look.head.is_none() {
            return Ok(None);
        }
        let objects = Source::of(tree).objects();
        staged::save(store, look, &objects, &store::run_ref(run, "index")).await
    }

    /// Takes what was committed into the store, then looks at what was not.
    async fn gather_and_look(&self, store: &Store, tree: &Tree, run: &RunKey) -> Result<Look, WorktreeError> {
        let gathered = gather::gather(store, &Source::of(tree), &store::run_ref(run, "")).await?;
        self.reach(Border::CommitsGathered);
        let has_lfs = lfs::take_objects(store, &tree.path.join(".git")).await?;
        let mut look = status::look(store, tree).await?;
        if !has_lfs {
            look.special.push(Special::HistoryIncomplete);
        }
        if !matches!(gathered.head, HeadSeen::At(_)) {
            look.special.push(Special::HeadUnreadable);
        }
        if gathered.is_partial_clone {
            look.special.push(Special::PartialClone);
        }
        if !gathered.complete_refs || gathered.history == History::Incomplete {
            look.special.push(Special::HistoryIncomplete);
        }
        if gathered.history == History::Cut {
            look.special.push(Special::ReflogsCut);
        }
        Ok(look)
    }

    async fn save(
        &self,
        store: &Store,
        tree: &Tree,
        look: &mut Look,
        asked: &Asked<'_>,
    ) -> Result<(String, Oid), WorktreeError> {
        let run = asked.run;
        let object = snapshot(store, look, asked.grafts).await?;
        name_unsaved(store, look).await?;
        let subject = asked.reason.replace(['\n', '\r'], " ");
        let message = format!(
            "salvage: {subject}\n\nCs-Panel-Card: {}\nCs-Panel-Run: {run}\n",
            tree.spec.card
        );
        let mut commit =
            store
                .call("commit-tree")
                .args(["commit-tree", object.as_str(), "-p", look.parent.as_str()]);
        if let Some(merged) = merge_head(store, tree).await? {
            commit = commit.args(["-p", merged.as_str()]);
        }
        let commit = parse::oid("commit-tree", &self.git().ok(commit.stdin(message)).await?)?;
        self.reach(Border::SnapshotMade);
        let kept = keep(
            store,
            &store::run_ref(run, "salvage"),
            &commit,
            Some(&look.parent),
        )
        .await?;
        self.reach(Border::SnapshotKept);
        Ok(kept)
    }
}

/// The salvage of a tree of which git has more to say than is read: its files are in no snapshot.
async fn note_too_much(
    store: &Store,
    tree: &Tree,
    run: &RunKey,
    reason: &str,
    op: &str,
) -> Result<Salvage, WorktreeError> {
    let completeness = Completeness::Partial(vec![Special::TooMuchToRead(op.to_owned())]);
    let manifest = Manifest {
        version: manifest::VERSION,
        card: tree.spec.card.clone(),
        run: run.clone(),
        reason: reason.to_owned(),
        reference: None,
        commit: None,
        parent: store.card_head(&tree.spec.card).await?,
        files: Vec::new(),
        inside: Vec::new(),
        index: None,
        completeness: completeness.clone(),
        ignored: Vec::new(),
        ignored_count: 0,
        ignored_cut: true,
        hidden: Hidden::default(),
    };
    Ok(Salvage {
        reference: None,
        commit: None,
        manifest: manifest.write(store)?,
        completeness,
        proof: None,
    })
}

fn completeness(look: &Look, has_some: bool) -> Completeness {
    match (look.special.is_empty(), has_some) {
        (false, _) => Completeness::Partial(look.special.clone()),
        (true, true) => Completeness::Complete,
        (true, false) => Completeness::Nothing,
    }
}

/// What a snapshot is made for, and of.
struct Asked<'a> {
    run: &'a RunKey,
    reason: &'a str,
    grafts: &'a [Graft],
}

/// Compares the files with the snapshot, and names those that are not in it.
pub(crate) async fn name_unsaved(store: &Store, look: &mut Look) -> Result<(), WorktreeError> {
    if look.special.iter().any(|s| matches!(s, Special::TooMany { .. })) {
        return Ok(());
    }
    for left in status::compare(store, look).await? {
        let named = look.special.iter().any(|s| left_out_path(s) == Some(&left.path));
        if !named {
            look.special.push(Special::NotSaved(left.path));
        }
    }
    Ok(())
}

/// Makes a snapshot's ref below a name, or finds an equal one; then reads it back.
pub(crate) async fn keep(
    store: &Store,
    below: &str,
    commit: &Oid,
    parent: Option<&Oid>,
) -> Result<(String, Oid), WorktreeError> {
    for n in 1..=SNAPSHOTS_MAX {
        let name = format!("{below}/{n}");
        let there = match store.commit(&name).await? {
            Some(there) => there,
            None if store.move_ref(&name, commit, None).await? == RefMove::Moved => {
                let read_back = store.commit(&name).await?;
                return match read_back {
                    Some(read) if read == *commit => Ok((name, read)),
                    _ => Err(WorktreeError::Corrupt {
                        what: format!("{name} does not read back"),
                    }),
                };
            }
            None => continue,
        };
        if same_snapshot(store, &there, commit, parent).await? {
            return Ok((name, there));
        }
    }
    Err(WorktreeError::Corrupt {
        what: format!("{below} has {SNAPSHOTS_MAX} snapshots already"),
    })
}

async fn same_snapshot(store: &Store, a: &Oid, b: &Oid, parent: Option<&Oid>) -> Result<bool, WorktreeError> {
    let tree = |c: &Oid| {
        store
            .call("rev-parse")
            .args(["rev-parse".to_owned(), format!("{c}^{{tree}}")])
    };
    let same_tree = store.git.ok(tree(a)).await? == store.git.ok(tree(b)).await?;
    Ok(same_tree && store.commit(&format!("{a}^1")).await?.as_ref() == parent)
}

async fn merge_head(store: &Store, tree: &Tree) -> Result<Option<Oid>, WorktreeError> {
    let text = plain::read(&tree.path.join(".git/MERGE_HEAD"), MERGE_HEAD_MAX_BYTES).unwrap_or_default();
    let text = text.to_str_lossy();
    let Some(oid) = text.lines().next().and_then(|line| Oid::new(line.trim()).ok()) else {
        return Ok(None);
    };
    store.commit(oid.as_str()).await
}

/// The file that is left out of the snapshot because of this.
fn left_out_path(special: &Special) -> Option<&RepoPath> {
    match special {
        Special::TooLarge(_) | Special::Unreadable(_) | Special::NotSaved(_) | Special::NotAFile(_) => {
            special.path()
        }
        Special::NestedRepository(_)
        | Special::Submodule(_)
        | Special::Filtered(_)
        | Special::UnderWay(_)
        | Special::Unmerged
        | Special::IndexUnreadable
        | Special::HeadUnreadable
        | Special::PartialClone
        | Special::HistoryIncomplete
        | Special::ReflogsCut
        | Special::TooMuchToRead(_)
        | Special::RulesNotRead(_)
        | Special::Mount(_)
        | Special::Beside(_)
        | Special::TooMany { .. }
        | Special::ChangedMeanwhile => None,
    }
}

/// Writes the files, except those that are special, and what repositories inside left, as a tree object in the store.
pub(crate) async fn snapshot(store: &Store, look: &mut Look, grafts: &[Graft]) -> Result<Oid, WorktreeError> {
    let too_many = look.special.iter().any(|s| matches!(s, Special::TooMany { .. }));
    let left_out = |path: &RepoPath| too_many || look.special.iter().any(|s| left_out_path(s) == Some(path));
    // As `update-index --index-info` takes them.
    let mut removed = Vec::new();
    let mut added = Vec::new();
    for entry in &look.entries {
        if entry.kind == EntryKind::Deleted {
            removed.extend(format!("0 {}\t", look.parent.zero_like()).into_bytes());
            removed.extend(entry.path.as_bytes());
            removed.push(0);
        } else if look.pointers.contains_key(&entry.path) {
            // What is committed in its place follows.
        } else if !left_out(&entry.path) {
            added.push(entry.path.clone());
        }
    }
    if !too_many {
        removed.extend(lfs::index_info(store, &look.pointers).await?);
    }
    if !removed.is_empty() {
        let remove = look
            .call(store, "update-index")
            .args(["update-index", "-z", "--index-info"]);
        store.git.ok(remove.stdin(removed)).await?;
    }
    let refused = add(store, look, added).await?;
    look.special.extend(refused.into_iter().map(Special::NotSaved));
    for graft in grafts {
        graft.put_into(store, look).await?;
    }
    let write = look.call(store, "write-tree").arg("write-tree");
    let tree = parse::oid("write-tree", &store.git.ok(write).await?)?;
    let damaged = crate::readback::damaged(store, look).await?;
    look.special.extend(damaged.into_iter().map(Special::NotSaved));
    Ok(tree)
}

/// Adds files to the temporary index. Git refuses the whole list for one bad file, so a refused list is halved until the
/// bad ones are alone; those are given back.
async fn add(store: &Store, look: &Look, files: Vec<RepoPath>) -> Result<Vec<RepoPath>, WorktreeError> {
    let mut refused = Vec::new();
    let mut lists = vec![files];
    while let Some(mut list) = lists.pop() {
        if list.is_empty() {
            continue;
        }
        if refused.len() >= REFUSED_MAX {
            refused.append(&mut list);
            continue;
        }
        let mut names = Vec::new();
        for path in &list {
            names.extend_from_slice(path.as_bytes());
            names.push(0);
        }
        let mut add = look.call(store, "update-index");
        if list.len() >= PACKED_MIN {
            // Git streams what it takes for large into one pack.
            add = add.setting("core.bigFileThreshold=1");
        }
        let add = add
            .args(["update-index", "--add", "--replace", "-z", "--stdin"])
            .limit(COPY_LIMIT)
            .stdin(names);
        if store.git.run(add).await?.code == 0 {
            continue;
        }
        if list.len() == 1 {
            refused.append(&mut list);
        } else {
            let half = list.split_off(list.len() / 2);
            lists.extend([half, list]);
        }
    }
    Ok(refused)
}
