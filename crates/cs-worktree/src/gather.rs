//! Everything that a repository of an agent committed, fetched into the store: its refs, its HEAD, and what only reflogs know.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bstr::ByteSlice;

use crate::error::WorktreeError;
use crate::fetch::{self, Listed, Readable, Source, answered, fetch_from};
use crate::ignored::within_cap;
use crate::keys::Oid;
use crate::plain;
use crate::store::Store;

/// Lost commits that are looked for in the reflogs of a repository, at most.
const REFLOG_COMMITS_MAX: usize = 500;
/// Once so many commits are mentioned, no further reflog is read.
const MENTIONED_MAX: usize = 500_000;
/// A reflog larger than this is not read.
const REFLOG_MAX_BYTES: u64 = 8 << 20;
/// Refs that are fetched one by one where git cannot fetch them together, at most.
const SINGLE_MAX: usize = 100;

/// What could be taken from a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gathered {
    pub(crate) head: HeadSeen,
    /// All refs are in the store.
    pub(crate) complete_refs: bool,
    /// What came of the commits that only the reflogs know.
    pub(crate) history: History,
    /// It lacks objects, and nothing was fetched for that reason.
    pub(crate) is_partial_clone: bool,
}

/// How much of what only the reflogs of a repository know is in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    Whole,
    /// Some of it cannot be read.
    Incomplete,
    /// There is more of it than is taken.
    Cut,
}

impl History {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Cut, _) | (_, Self::Cut) => Self::Cut,
            (Self::Incomplete, _) | (_, Self::Incomplete) => Self::Incomplete,
            (Self::Whole, Self::Whole) => Self::Whole,
        }
    }
}

/// The HEAD of a repository, as it was gathered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadSeen {
    /// It is at this commit, which is in the store.
    At(Oid),
    /// It names a branch without a commit.
    Unborn,
    /// It could not be fetched.
    Unreadable,
}

impl Gathered {
    pub(crate) fn nothing() -> Self {
        Self {
            head: HeadSeen::Unreadable,
            complete_refs: false,
            history: History::Incomplete,
            is_partial_clone: false,
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.head != HeadSeen::Unreadable && self.complete_refs && self.history == History::Whole
    }
}

/// Fetches all refs, HEAD, and the commits that only the reflogs know, under a prefix of the store that ends with `/`.
///
/// It may be done again: what the refs of the prefix named before stays in the store, below `reflog/`. Nothing counts as
/// taken because git found no fault: the refs of the store are compared with what the repository says that it has.
pub(crate) async fn gather(store: &Store, source: &Source, under: &str) -> Result<Gathered, WorktreeError> {
    let readable = source.readable(store).await?;
    match readable {
        Readable::No => return Ok(Gathered::nothing()),
        Readable::PartialClone => {
            return Ok(Gathered {
                is_partial_clone: true,
                ..Gathered::nothing()
            });
        }
        Readable::Partly | Readable::Whole => {}
    }
    let Some(listed) = fetch::list(store, source).await? else {
        return Ok(Gathered::nothing());
    };
    let wanted = wanted(&listed, under);
    let mut there = gathered_refs(store, under).await?;
    if there != wanted {
        park(store, under, &there, &wanted).await?;
        fetch_listed(store, source, under, &listed).await?;
        there = gathered_refs(store, under).await?;
    }
    let came = |name: &String| there.contains_key(name);
    let head_ref = format!("{under}HEAD");
    let head = match &listed.head {
        None => HeadSeen::Unborn,
        Some(_) if !came(&head_ref) => HeadSeen::Unreadable,
        Some(_) => match store.commit(&head_ref).await? {
            Some(commit) => HeadSeen::At(commit),
            None => HeadSeen::Unreadable,
        },
    };
    Ok(Gathered {
        head,
        complete_refs: readable == Readable::Whole && wanted.keys().all(came),
        history: gather_reflogs(store, source, under).await?,
        is_partial_clone: false,
    })
}

fn wanted(listed: &Listed, under: &str) -> BTreeMap<String, Oid> {
    let refs = listed
        .refs
        .iter()
        .map(|(name, oid)| (format!("{under}{name}"), oid.clone()));
    let head = listed
        .head
        .iter()
        .map(|oid| (format!("{under}HEAD"), oid.clone()));
    refs.chain(head).collect()
}

/// What was gathered below a prefix before, without what is parked there.
async fn gathered_refs(store: &Store, under: &str) -> Result<BTreeMap<String, Oid>, WorktreeError> {
    let list = store
        .call("for-each-ref")
        .args(["for-each-ref", "--format=%(objectname) %(refname)"]);
    let list = list.arg(format!("{under}HEAD")).arg(format!("{under}refs"));
    let out = store.git.ok(list).await?;
    let line = |line: &[u8]| {
        let (oid, name) = line.to_str().ok()?.split_once(' ')?;
        Some((name.to_owned(), Oid::new(oid).ok()?))
    };
    Ok(out.lines().filter_map(line).collect())
}

/// Keeps what the refs of an earlier gathering name and those of this one do not, and makes room for these.
async fn park(
    store: &Store,
    under: &str,
    there: &BTreeMap<String, Oid>,
    wanted: &BTreeMap<String, Oid>,
) -> Result<(), WorktreeError> {
    let moved = || there.iter().filter(|(name, oid)| wanted.get(*name) != Some(*oid));
    let kept: BTreeSet<&Oid> = moved().map(|(_, oid)| oid).collect();
    let mut input: String = kept
        .iter()
        .map(|oid| format!("update {under}reflog/{oid} {oid}\n"))
        .collect();
    input.extend(moved().map(|(name, oid)| format!("delete {name} {oid}\n")));
    if input.is_empty() {
        return Ok(());
    }
    let update = store
        .call("update-ref")
        .args(["update-ref", "--no-deref", "--stdin"]);
    store.git.ok(update.stdin(input)).await?;
    Ok(())
}

/// One bad ref must not keep the others away: what git cannot fetch together, it fetches apart.
async fn fetch_listed(
    store: &Store,
    source: &Source,
    under: &str,
    listed: &Listed,
) -> Result<(), WorktreeError> {
    let refs = source.all_refs(under);
    let head = listed.head.iter().map(|_| format!("+HEAD:{under}HEAD"));
    let together: Vec<String> = refs.iter().cloned().chain(head.clone()).collect();
    if fetch_from(store, source, &together).await? {
        return Ok(());
    }
    for head in head {
        fetch_from(store, source, &[head]).await?;
    }
    if fetch_from(store, source, &refs).await? {
        return Ok(());
    }
    for name in listed.refs.keys().take(SINGLE_MAX) {
        fetch_from(store, source, &[format!("+{name}:{under}{name}")]).await?;
    }
    Ok(())
}

/// Fetches what only the reflogs know; says whether all of it came that the repository still has.
async fn gather_reflogs(store: &Store, source: &Source, under: &str) -> Result<History, WorktreeError> {
    let mut mentioned = BTreeSet::new();
    let mut history = if source.has_plain_logs() {
        History::Whole
    } else {
        History::Incomplete
    };
    for logs in source.logs() {
        history = history.and(read_reflogs(&logs, 0, &mut mentioned));
    }
    mentioned.extend(source.detached_heads());
    let Some(lost) = lost_tips(store, source, &mentioned).await? else {
        return Ok(History::Cut);
    };
    let tips: Vec<&Oid> = lost.iter().take(REFLOG_COMMITS_MAX).collect();
    let refspec = |tip: &Oid| format!("+{tip}:{under}reflog/{tip}");
    let together: Vec<String> = tips.iter().map(|tip| refspec(tip)).collect();
    if !together.is_empty() && !fetch_from(store, source, &together).await? {
        for tip in &tips {
            fetch_from(store, source, &[refspec(tip)]).await?;
        }
    }
    for tip in &tips {
        let name = format!("{under}reflog/{tip}");
        if store.commit(&name).await?.as_ref() != Some(*tip) {
            history = history.and(History::Incomplete);
        }
    }
    if lost.len() > REFLOG_COMMITS_MAX {
        history = History::Cut;
    }
    Ok(history)
}

/// The commits from which all others can be reached that are mentioned, are still in the repository or the store, and are on no
/// ref of the store. That the store has an object does not keep it. `None` when git has more to say of them than is read.
async fn lost_tips(
    store: &Store,
    source: &Source,
    mentioned: &BTreeSet<Oid>,
) -> Result<Option<Vec<Oid>>, WorktreeError> {
    let lines =
        |oids: &mut dyn Iterator<Item = &Oid>| -> String { oids.map(|oid| format!("{oid}\n")).collect() };
    if mentioned.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let borrowing = |op| {
        let call = store.call(op).borrow_objects(&source.objects());
        call.setting("core.commitGraph=false")
    };
    let check = borrowing("cat-file").args(["cat-file", "--batch-check=%(objectname) %(objecttype)"]);
    let checked = store.git.ok(check.stdin(lines(&mut mentioned.iter()))).await;
    let Some(out) = within_cap(checked)? else {
        return Ok(None);
    };
    let commits = out.lines().filter_map(|line| line.strip_suffix(b" commit"));
    let present: Vec<Oid> = commits
        .filter_map(|name| Oid::new(name.to_str_lossy()).ok())
        .collect();
    if present.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let walk = borrowing("rev-list").args(["rev-list", "--parents", "--stdin", "--not", "--all"]);
    let walk = walk.stdin(lines(&mut present.iter()));
    // Where history is cut off, each commit is asked for by itself.
    let Some(out) = answered(store.git.ok(walk).await)? else {
        return Ok(Some(present));
    };
    let mut parents = BTreeSet::new();
    let mut found = Vec::new();
    for line in out.lines() {
        let mut names = line
            .split_str(" ")
            .filter_map(|name| Oid::new(name.to_str_lossy()).ok());
        found.extend(names.next());
        parents.extend(names);
    }
    found.retain(|commit| !parents.contains(commit));
    Ok(Some(found))
}

/// Collects the object names in all reflogs; says whether every one could be read.
fn read_reflogs(dir: &Path, depth: u8, found: &mut BTreeSet<Oid>) -> History {
    let Ok(entries) = fs::read_dir(dir) else {
        return if depth == 0 {
            History::Whole
        } else {
            History::Incomplete
        };
    };
    let mut history = History::Whole;
    for entry in entries.flatten() {
        let Ok(meta) = entry.path().symlink_metadata() else {
            continue;
        };
        if meta.is_dir() && depth < 32 {
            history = history.and(read_reflogs(&entry.path(), depth + 1, found));
        } else if meta.is_file() && (meta.len() > REFLOG_MAX_BYTES || found.len() >= MENTIONED_MAX) {
            history = History::Cut;
        } else if meta.is_file() {
            let Ok(text) = plain::read(&entry.path(), REFLOG_MAX_BYTES) else {
                history = history.and(History::Incomplete);
                continue;
            };
            let names = text.lines().flat_map(|line| line.splitn_str(3, " ").take(2));
            let names = names.filter_map(|name| Oid::new(name.to_str_lossy()).ok());
            found.extend(names.filter(|oid| oid.zero_like() != oid.as_str()));
        } else {
            history = history.and(History::Incomplete);
        }
    }
    history
}
