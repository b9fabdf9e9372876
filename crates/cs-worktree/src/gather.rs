//! Everything that a repository of an agent committed, fetched into the store: its refs, its HEAD, and what only reflogs know.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bstr::ByteSlice;

use crate::error::WorktreeError;
use crate::fetch::{Source, fetch_from};
use crate::keys::Oid;
use crate::store::Store;

/// Lost commits that are looked for in the reflogs of a repository, at most.
const REFLOG_COMMITS_MAX: usize = 500;
/// A reflog larger than this is not read.
const REFLOG_MAX_BYTES: u64 = 8 << 20;

/// What could be taken from a repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gathered {
    /// All refs and HEAD were fetched.
    pub(crate) complete_refs: bool,
    /// All commits that only the reflogs know were fetched.
    pub(crate) complete_history: bool,
}

/// Fetches all refs, HEAD, and the commits that only the reflogs know, under a prefix of the store that ends with `/`.
pub(crate) async fn gather(store: &Store, source: &Source, under: &str) -> Result<Gathered, WorktreeError> {
    if !source.is_safe(store).await? {
        return Ok(Gathered {
            complete_refs: false,
            complete_history: false,
        });
    }
    // Wildcards: a named ref that is missing would abort the whole fetch.
    let all = format!("+refs/*:{under}refs/*");
    let refs = fetch_from(store, source, &[&all, "^refs/remotes/origin/*"]).await?;
    let head = format!("+HEAD:{under}HEAD");
    let head = fetch_from(store, source, &[&head]).await?;
    let complete_history = gather_reflogs(store, source, under).await?;
    Ok(Gathered {
        complete_refs: refs && head,
        complete_history,
    })
}

pub(crate) async fn gather_reflogs(
    store: &Store,
    source: &Source,
    under: &str,
) -> Result<bool, WorktreeError> {
    let mut mentioned = BTreeSet::new();
    let mut complete = true;
    for logs in source.logs() {
        complete &= read_reflogs(&logs, 0, &mut mentioned);
    }
    mentioned.extend(source.detached_heads());
    let lost = missing(store, &mentioned).await?;
    for commit in lost.iter().take(REFLOG_COMMITS_MAX) {
        // An earlier one may have brought it.
        if missing(store, &BTreeSet::from([commit.clone()]))
            .await?
            .is_empty()
            && is_kept(store, commit).await?
        {
            continue;
        }
        let refspec = format!("+{commit}:{under}reflog/{commit}");
        // A commit that the repository has dropped itself is not there to be fetched.
        complete &= fetch_from(store, source, &[&refspec]).await? || !is_in(store, source, commit).await?;
    }
    Ok(complete && lost.len() <= REFLOG_COMMITS_MAX)
}

/// Which of the objects the store does not have.
async fn missing(store: &Store, wanted: &BTreeSet<Oid>) -> Result<Vec<Oid>, WorktreeError> {
    let names: String = wanted.iter().map(|oid| format!("{oid}\n")).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let check = store
        .call("cat-file")
        .args(["cat-file", "--batch-check=%(objectname)"])
        .stdin(names);
    let out = store.git.ok(check).await?;
    let missing = out.lines().filter_map(|line| line.strip_suffix(b" missing"));
    Ok(missing
        .filter_map(|name| Oid::new(name.to_str_lossy()).ok())
        .collect())
}

async fn is_kept(store: &Store, commit: &Oid) -> Result<bool, WorktreeError> {
    let find = store
        .call("for-each-ref")
        .args(["for-each-ref", "--count=1", "--contains", commit.as_str()]);
    Ok(store
        .git
        .run(find)
        .await?
        .stdout
        .starts_with(commit.as_str().as_bytes()))
}

async fn is_in(store: &Store, source: &Source, commit: &Oid) -> Result<bool, WorktreeError> {
    let look = store.call("cat-file").borrow_objects(&source.objects());
    Ok(store
        .git
        .run(look.args(["cat-file", "-e", commit.as_str()]))
        .await?
        .code
        == 0)
}

/// Collects the object names in all reflogs; says whether every one could be read.
fn read_reflogs(dir: &Path, depth: u8, found: &mut BTreeSet<Oid>) -> bool {
    let Ok(entries) = fs::read_dir(dir) else {
        return depth == 0;
    };
    let mut complete = true;
    for entry in entries.flatten() {
        let Ok(meta) = entry.path().symlink_metadata() else {
            continue;
        };
        if meta.is_dir() && depth < 32 {
            complete &= read_reflogs(&entry.path(), depth + 1, found);
        } else if meta.is_file() && meta.len() <= REFLOG_MAX_BYTES {
            let Ok(text) = fs::read(entry.path()) else {
                complete = false;
                continue;
            };
            let names = text.lines().flat_map(|line| line.splitn_str(3, " ").take(2));
            let names = names.filter_map(|name| Oid::new(name.to_str_lossy()).ok());
            found.extend(names.filter(|oid| oid.zero_like() != oid.as_str()));
        } else {
            complete = false;
        }
    }
    complete
}
