//! What was saved, and the way back: every snapshot has a ref, a reason and a time, and can become a directory or a branch.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bstr::ByteSlice;

use crate::Worktrees;
use crate::collect;
use crate::error::{GitError, WorktreeError};
use crate::ignored::Hidden;
use crate::inside::SavedInside;
use crate::keys::{BranchName, CardKey, CodebaseKey, Oid, RunKey};
use crate::lfs;
use crate::manifest::Manifest;
use crate::parse;
use crate::path::RepoPath;
use crate::repository::Repository;
use crate::salvage::Completeness;
use crate::status::{EntryKind, StatusEntry};
use crate::store::{self, RefChange, RefMove, Store};
use crate::tree;

/// Snapshots that are listed, at most; the newest come first.
const LISTED_MAX: usize = 10_000;
/// Refs of one run that are shown, at most.
const REFS_SHOWN_MAX: usize = 2_000;

/// A snapshot of what was uncommitted in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedWork {
    /// The ref in the store that holds it.
    pub reference: String,
    /// The snapshot, whose first parent is the commit that the tree stood on.
    pub commit: Oid,
    /// That commit.
    pub parent: Option<Oid>,
    /// The card whose tree it was, by the snapshot's own words.
    pub card: Option<CardKey>,
    /// The attempt that left it.
    pub run: RunKey,
    /// Why it was saved.
    pub reason: String,
    /// When.
    pub at: SystemTime,
}

/// Everything that is kept of one snapshot's attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedDetail {
    /// The snapshot.
    pub work: SavedWork,
    /// What it changes, compared with its parent.
    pub files: Vec<StatusEntry>,
    /// Whether the tree held anything else; `None` when its manifest was not written.
    pub completeness: Option<Completeness>,
    /// What only rules of the agent ignored.
    pub hidden: Hidden,
    /// Repositories that were inside the tree.
    pub inside: Vec<SavedInside>,
    /// What else the attempt left: its refs, also of history that was rewritten, by name and commit.
    pub refs: Vec<(String, Oid)>,
}

impl Worktrees {
    /// Lists the snapshots of a codebase, the newest first.
    ///
    /// # Errors
    /// Git failed.
    pub async fn saved_work(&self, codebase: &CodebaseKey) -> Result<Vec<SavedWork>, WorktreeError> {
        let store = self.store(codebase);
        let refs = refs_below(&store, "refs/cs-panel/run").await?;
        let snapshots: Vec<(String, RunKey, Oid)> = refs
            .into_iter()
            .filter_map(|(name, commit)| Some((name.clone(), run_of_snapshot(&name)?, commit)))
            .collect();
        let mut found = read_commits(&store, snapshots).await?;
        found.sort_by(|a, b| (b.at, &b.reference).cmp(&(a.at, &a.reference)));
        found.truncate(LISTED_MAX);
        Ok(found)
    }

    /// Shows one snapshot, named by its ref.
    ///
    /// # Errors
    /// [`WorktreeError::NotSaved`], or git failed.
    pub async fn saved_detail(
        &self,
        codebase: &CodebaseKey,
        reference: &str,
    ) -> Result<SavedDetail, WorktreeError> {
        let store = self.store(codebase);
        let work = find(&store, reference).await?;
        let own = work
            .reference
            .strip_prefix(&store::run_ref(&work.run, "salvage/"));
        let manifest = Manifest::read(&store, &work.run, own.unwrap_or("0"));
        let refs = refs_below(&store, &store::run_ref(&work.run, "")).await?;
        let files = match &work.parent {
            Some(parent) => changes(&store, parent, &work.commit).await?,
            None => Vec::new(),
        };
        Ok(SavedDetail {
            files,
            completeness: manifest.as_ref().map(|manifest| manifest.completeness.clone()),
            hidden: manifest
                .as_ref()
                .map(|manifest| manifest.hidden.clone())
                .unwrap_or_default(),
            inside: manifest.map(|manifest| manifest.inside).unwrap_or_default(),
            refs: refs.into_iter().take(REFS_SHOWN_MAX).collect(),
            work,
        })
    }

    /// Writes a snapshot into a new directory: a clone that stands on the snapshot's parent, with everything that was
    /// uncommitted uncommitted again. All that the attempt committed is in it too, below `refs/saved/`.
    ///
    /// A crash leaves nothing at `to`.
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
        if to.symlink_metadata().is_ok() {
            return Err(WorktreeError::Occupied { path: to.to_owned() });
        }
        let beside = to
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let half = tempfile::Builder::new()
            .prefix(".cs-panel-restore-")
            .tempdir_in(beside)
            .map_err(WorktreeError::io("make a directory in", beside))?;
        let made = half.path().join("work");
        self.fill_directory(&store, &work, &made).await?;
        fs::rename(&made, to).map_err(WorktreeError::io("put in place", to))?;
        Ok(work)
    }

    async fn fill_directory(
        &self,
        store: &Store,
        work: &SavedWork,
        made: &Path,
    ) -> Result<(), WorktreeError> {
        self.run_clone(store, made, &[]).await?;
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
        let change = RefChange {
            new: &commit,
            old: None,
            note: "cs-panel: restored",
        };
        let call = repository.call("update-ref");
        match store::move_ref(self.git(), call, &branch.full_ref(), change).await? {
            RefMove::Moved => Ok(commit),
            RefMove::Stale => Err(collision()),
        }
    }
}

/// The run of a snapshot of a tree or of a submodule, from the name of its ref; `None` for other refs of a run.
fn run_of_snapshot(name: &str) -> Option<RunKey> {
    let parts: Vec<&str> = name.strip_prefix("refs/cs-panel/run/")?.split('/').collect();
    let (run, number) = match parts[..] {
        [run, "salvage", number] | [run, "nested", _, "salvage", number] => (run, number),
        _ => return None,
    };
    number.parse::<u32>().ok()?;
    RunKey::new(run).ok()
}

async fn find(store: &Store, reference: &str) -> Result<SavedWork, WorktreeError> {
    let unknown = || WorktreeError::NotSaved {
        reference: reference.to_owned(),
    };
    let run = run_of_snapshot(reference).ok_or_else(unknown)?;
    let commit = store.commit(reference).await?.ok_or_else(unknown)?;
    let read = read_commits(store, vec![(reference.to_owned(), run, commit)]).await?;
    read.into_iter().next().ok_or_else(unknown)
}

pub(crate) async fn refs_below(store: &Store, prefix: &str) -> Result<Vec<(String, Oid)>, WorktreeError> {
    if !store.dir.exists() {
        return Ok(Vec::new());
    }
    let list = store.call("for-each-ref").args(["for-each-ref", store::FORMAT]);
    let out = store.git.ok(list.arg(prefix.trim_end_matches('/'))).await?;
    Ok(parse::refs(&out).into_iter().collect())
}

/// Reads the snapshots' own words.
async fn read_commits(
    store: &Store,
    snapshots: Vec<(String, RunKey, Oid)>,
) -> Result<Vec<SavedWork>, WorktreeError> {
    if snapshots.is_empty() {
        return Ok(Vec::new());
    }
    let names: String = snapshots.iter().map(|(_, _, oid)| format!("{oid}\n")).collect();
    let ask = store.call("cat-file").args(["cat-file", "--batch"]);
    let out = store.git.ok(ask.stdin(names)).await?;
    let mut rest = out.as_slice();
    let mut found = Vec::new();
    for (reference, run, commit) in snapshots {
        let unreadable = || GitError::Unreadable {
            op: "cat-file",
            what: "a commit was expected",
        };
        let text = parse::next_object(&mut rest).ok_or_else(unreadable)?;
        found.push(read_commit(reference, run, commit, text));
    }
    Ok(found)
}

fn read_commit(reference: String, run: RunKey, commit: Oid, text: &[u8]) -> SavedWork {
    let (head, message) = match text.find("\n\n") {
        Some(at) => (&text[..at], &text[at + 2..]),
        None => (text, b"".as_slice()),
    };
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name.as_bytes()));
    let parent = header("parent ").and_then(|oid| Oid::new(oid.to_str_lossy()).ok());
    let seconds = header("committer ").and_then(|line| {
        let mut words = line.rsplit(|byte| *byte == b' ');
        words.nth(1)?.to_str().ok()?.parse::<u64>().ok()
    });
    let subject = message.lines().next().unwrap_or_default().to_str_lossy();
    let card = message
        .lines()
        .find_map(|line| line.strip_prefix(b"Cs-Panel-Card: "));
    SavedWork {
        reference,
        commit,
        parent,
        card: card.and_then(|card| CardKey::new(card.to_str_lossy()).ok()),
        run,
        reason: subject.strip_prefix("salvage: ").unwrap_or(&subject).to_owned(),
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unwrap_or(0)),
    }
}

async fn changes(store: &Store, from: &Oid, to: &Oid) -> Result<Vec<StatusEntry>, WorktreeError> {
    let diff = store.call("diff-tree").args([
        "diff-tree",
        "-r",
        "--raw",
        "-z",
        "--no-renames",
        from.as_str(),
        to.as_str(),
    ]);
    let changes = parse::raw_diff("diff-tree", &store.git.ok(diff).await?)?;
    let entry = |change: parse::RawChange| StatusEntry {
        kind: match (change.is_deleted(), change.is_added()) {
            (true, _) => EntryKind::Deleted,
            (false, true) => EntryKind::Untracked,
            (false, false) => EntryKind::Modified,
        },
        path: change.path,
    };
    Ok(changes.into_iter().map(entry).collect())
}
