//! Reading a repository that an agent wrote: a fetch into the store, which runs nothing of its configuration.
//!
//! There is one exception. A repository that says that it lacks objects and where they are to be had (a partial clone) makes
//! some versions of git run the program that its configuration names. Our clones are never partial, so such a repository is
//! not fetched from at all: its files are saved, and the tree is kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use crate::error::{GitError, WorktreeError};
use crate::keys::Oid;
use crate::parse;
use crate::plain;
use crate::runner::{COPY_LIMIT, Call, World};
use crate::store::Store;
use crate::tree::Tree;
use crate::walk;

/// A configuration that is larger is not read, and its repository not fetched from.
const CONFIG_MAX_BYTES: u64 = 4 << 20;
/// A file of one line.
const LINE_MAX_BYTES: u64 = 4096;
/// Linked working trees of one repository that are looked at.
const LINKED_MAX: usize = 256;

/// A repository to fetch from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its git directory; that of a linked working tree has only a HEAD of its own.
    pub(crate) git_dir: PathBuf,
    /// Where its refs, objects and configuration are.
    common_dir: PathBuf,
    /// Refs below this are not its own work.
    skips: Option<&'static str>,
}

/// How far a repository can be fetched from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readable {
    /// Not at all.
    No,
    /// Not at all: it is a partial clone.
    PartialClone,
    /// It says that it hides some of its refs.
    Partly,
    /// All of it.
    Whole,
}

/// What a repository says that it has.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Its HEAD, where that names a commit.
    pub(crate) head: Option<Oid>,
    /// Its refs by their full names, but for those that are skipped.
    pub(crate) refs: BTreeMap<String, Oid>,
}

impl Source {
    /// The repository of a tree itself.
    pub(crate) fn of(tree: &Tree) -> Self {
        let git_dir = tree.path.join(".git");
        Self {
            common_dir: git_dir.clone(),
            git_dir,
            skips: Some("refs/remotes/origin/"),
        }
    }

    /// The repository at a git directory, which may be that of a linked working tree.
    pub(crate) fn at(git_dir: PathBuf) -> Self {
        let named = plain::read(&git_dir.join("commondir"), LINE_MAX_BYTES).unwrap_or_default();
        let common_dir = match parse::line_path(&named) {
            path if path.as_os_str().is_empty() => git_dir.clone(),
            path => git_dir.join(path),
        };
        Self {
            git_dir,
            common_dir,
            skips: None,
        }
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    /// Where reflogs are: its own, and those of its linked working trees.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let own = [self.git_dir.join("logs"), self.common_dir.join("logs")];
        let linked = self.linked().into_iter().map(|dir| dir.join("logs"));
        own.into_iter().chain(linked).collect()
    }

    /// Whether its reflogs are files that can be read.
    pub(crate) fn has_plain_logs(&self) -> bool {
        self.common_dir.join("reftable").symlink_metadata().is_err()
    }

    /// The commits at which linked working trees stand without a branch.
    pub(crate) fn detached_heads(&self) -> Vec<Oid> {
        let head = |dir: PathBuf| {
            let text = plain::read(&dir.join("HEAD"), LINE_MAX_BYTES).ok()?;
            Oid::new(text.trim_ascii().to_str_lossy()).ok()
        };
        self.linked().into_iter().filter_map(head).collect()
    }

    fn linked(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.common_dir.join("worktrees"));
        let dirs = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        dirs.take(LINKED_MAX).collect()
    }

    /// The refspecs for all of its own refs, below a prefix.
    pub(crate) fn all_refs(&self, under: &str) -> Vec<String> {
        let all = format!("+refs/*:{under}refs/*");
        let skipped = self.skips.map(|skips| format!("^{skips}*"));
        [all].into_iter().chain(skipped).collect()
    }

    /// Whether this is a git directory that does not make git fetch from elsewhere, wait for anybody or hide anything.
    pub(crate) async fn readable(&self, store: &Store) -> Result<Readable, WorktreeError> {
        let is_dir = |dir: &Path| dir.symlink_metadata().is_ok_and(|m| m.is_dir());
        if !is_dir(&self.git_dir) || !is_dir(&self.common_dir) {
            return Ok(Readable::No);
        }
        let dirs = [self.git_dir.clone(), self.common_dir.clone()];
        let in_the_way = walk::in_background(self.git_dir.clone(), move || {
            Ok(!dirs.iter().all(|dir| plain::nothing_blocks(dir)))
        });
        let readable = if in_the_way.await? {
            Readable::No
        } else {
            self.configured(store).await?
        };
        if readable != Readable::Whole {
            tracing::warn!(repository = %self.git_dir.display(), ?readable, "a repository of an agent cannot be fetched from as a whole");
        }
        Ok(readable)
    }

    async fn configured(&self, store: &Store) -> Result<Readable, WorktreeError> {
        let files = [
            self.common_dir.join("config"),
            self.common_dir.join("config.worktree"),
            self.git_dir.join("config.worktree"),
        ];
        let mut text = Vec::new();
        for file in files {
            match plain::read_if_there(&file, CONFIG_MAX_BYTES) {
                Ok(more) => text.extend(more.to_ascii_lowercase()),
                Err(_) => return Ok(Readable::No),
            }
            text.push(b'\n');
        }
        let said = judge_words(&text);
        if said == Readable::PartialClone || !text.contains_str("[include") {
            return Ok(said);
        }
        // Git says what the configuration says with all that it includes; reading it runs nothing. When git cannot read it, it
        // may say anything.
        let ask = Call::new(World::Ours, "config")
            .git_dir(&self.git_dir)
            .reads_only();
        let words = "(promisor|partialclone|hiderefs)";
        let ask = ask.args(["config", "--name-only", "--get-regexp", words]);
        let answer = store.git.run(ask).await?;
        Ok(match answer.code {
            0 => judge_words(&answer.stdout.to_ascii_lowercase()),
            1 => said,
            _ => Readable::No,
        })
    }
}

fn judge_words(text: &[u8]) -> Readable {
    if text.contains_str("promisor") || text.contains_str("partialclone") {
        Readable::PartialClone
    } else if text.contains_str("hiderefs") {
        Readable::Partly
    } else {
        Readable::Whole
    }
}

/// Asks a repository that is readable for its refs; `None` when it does not answer.
pub(crate) async fn list(store: &Store, source: &Source) -> Result<Option<Listed>, WorktreeError> {
    let ask = store.call("ls-remote").limit(COPY_LIMIT);
    let ask = ask.args(["ls-remote", "--quiet"]).arg(&source.git_dir);
    let Some(out) = answered(store.git.ok(ask).await)? else {
        return Ok(None);
    };
    let mut listed = Listed::default();
    for line in out.lines().filter_map(|line| line.to_str().ok()) {
        let Some((oid, name)) = line.split_once('\t') else {
            continue;
        };
        let Ok(oid) = Oid::new(oid) else { continue };
        if name == "HEAD" {
            listed.head = Some(oid);
        } else if !name.ends_with("^{}") && !source.skips.is_some_and(|skips| name.starts_with(skips)) {
            listed.refs.insert(name.to_owned(), oid);
        }
    }
    Ok(Some(listed))
}

/// Fetches refspecs from a repository that is readable; says whether git found no fault.
///
/// Git finds none with refs that it refuses because their history is cut off: what came is seen at the refs.
pub(crate) async fn fetch_from<S: AsRef<str>>(
    store: &Store,
    source: &Source,
    refspecs: &[S],
) -> Result<bool, WorktreeError> {
    // Objects that git's checks find fault with are taken all the same, at the second try: they are somebody's work.
    for checked in [true, false] {
        let fetch = store
            .call("fetch")
            .limit(COPY_LIMIT)
            .setting(&format!("transfer.fsckObjects={checked}"));
        let fetch = fetch.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ]);
        let fetch = fetch
            .arg(&source.git_dir)
            .args(refspecs.iter().map(AsRef::as_ref));
        if answered(store.git.ok(fetch).await)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What git says of a repository of an agent; `None` when it fails on it, is killed, or finds no end.
pub(crate) fn answered<T>(answer: Result<T, GitError>) -> Result<Option<T>, WorktreeError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error @ GitError::Start { .. }) => Err(error.into()),
        Err(error) => {
            tracing::debug!(%error, "a repository of an agent cannot be read");
            Ok(None)
        }
    }
}
