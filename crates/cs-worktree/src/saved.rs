//! What was saved: every snapshot has a ref, a reason and a time.

use std::time::{Duration, SystemTime};

use bstr::ByteSlice;

use crate::Worktrees;
use crate::error::{GitError, WorktreeError};
use crate::ignored::Hidden;
use crate::inside::SavedInside;
use crate::keys::{CardKey, CodebaseKey, Oid, RunKey};
use crate::manifest::Manifest;
use crate::parse;
use crate::salvage::Completeness;
use crate::status::{EntryKind, StatusEntry};
use crate::store::{self, Store};

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

pub(crate) async fn find(store: &Store, reference: &str) -> Result<SavedWork, WorktreeError> {
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

pub(crate) async fn changes(store: &Store, from: &Oid, to: &Oid) -> Result<Vec<StatusEntry>, WorktreeError> {
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
