//! Reading a repository that an agent wrote: a fetch into the store, which runs nothing of its configuration.
//!
//! There is one exception. A repository that says that it lacks objects and where they are to be had (a partial clone) makes
//! some versions of git run the program that its configuration names. Our clones are never partial, so such a repository is
//! not fetched from at all: its files are saved, and the tree is kept.

use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse;
use crate::runner::{Call, World};
use crate::store::Store;
use crate::tree::Tree;

/// Linked working trees of one repository that are looked at.
const LINKED_MAX: usize = 256;

/// A repository to fetch from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its git directory; that of a linked working tree has only a HEAD of its own.
    pub(crate) git_dir: PathBuf,
    /// Where its refs, objects and configuration are.
    common_dir: PathBuf,
}

impl Source {
    /// The repository of a tree itself.
    pub(crate) fn of(tree: &Tree) -> Self {
        let git_dir = tree.path.join(".git");
        Self {
            common_dir: git_dir.clone(),
            git_dir,
        }
    }

    /// The repository at a git directory, which may be that of a linked working tree.
    pub(crate) fn at(git_dir: PathBuf) -> Self {
        let named = fs::read(git_dir.join("commondir")).unwrap_or_default();
        let common_dir = match parse::line_path(&named) {
            path if path.as_os_str().is_empty() => git_dir.clone(),
            path => git_dir.join(path),
        };
        Self { git_dir, common_dir }
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

    /// The commits at which linked working trees stand without a branch.
    pub(crate) fn detached_heads(&self) -> Vec<Oid> {
        let head = |dir: PathBuf| {
            let text = fs::read_to_string(dir.join("HEAD")).ok()?;
            Oid::new(text.trim()).ok()
        };
        self.linked().into_iter().filter_map(head).collect()
    }

    fn linked(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.common_dir.join("worktrees"));
        let dirs = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        dirs.take(LINKED_MAX).collect()
    }

    /// Whether this is a git directory that does not make git fetch from elsewhere.
    pub(crate) async fn is_safe(&self, store: &Store) -> Result<bool, WorktreeError> {
        let is_dir = |dir: &Path| dir.symlink_metadata().is_ok_and(|m| m.is_dir());
        if !is_dir(&self.git_dir) || !is_dir(&self.common_dir) {
            return Ok(false);
        }
        let files = [
            self.common_dir.join("config"),
            self.common_dir.join("config.worktree"),
            self.git_dir.join("config.worktree"),
        ];
        let texts = files.map(|file| fs::read(file).unwrap_or_default().to_ascii_lowercase());
        let says = |word: &str| texts.iter().any(|text| text.contains_str(word));
        let is_partial =
            says("promisor") || says("partialclone") || says("[include") && self.is_partial(store).await?;
        if is_partial {
            tracing::warn!(repository = %self.git_dir.display(), "a repository of an agent is a partial clone; it is not fetched from");
        }
        Ok(!is_partial)
    }

    /// Asks git what the configuration says with all that it includes; reading it runs nothing. When git cannot read it, it may
    /// say anything.
    async fn is_partial(&self, store: &Store) -> Result<bool, WorktreeError> {
        let ask = Call::new(World::Ours, "config")
            .git_dir(&self.git_dir)
            .reads_only();
        let ask = ask.args(["config", "--name-only", "--get-regexp", "(promisor|partialclone)"]);
        Ok(store.git.run(ask).await?.code != 1)
    }
}

/// Fetches refspecs from a repository into the store; says whether it worked.
///
/// A repository that is not safe to fetch from is not asked.
pub(crate) async fn fetch_from(
    store: &Store,
    source: &Source,
    refspecs: &[&str],
) -> Result<bool, WorktreeError> {
    if !source.is_safe(store).await? {
        return Ok(false);
    }
    // Objects that git's checks find fault with are taken all the same, at the second try: they are somebody's work.
    for checked in [true, false] {
        let fetch = store
            .call("fetch")
            .setting(&format!("transfer.fsckObjects={checked}"));
        let fetch = fetch.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ]);
        let fetch = fetch.arg(&source.git_dir).args(refspecs);
        let answer = store.git.run(fetch).await?;
        if answer.code == 0 {
            return Ok(true);
        }
        tracing::debug!(error = %answer.into_error("fetch"), checked, "a repository could not be fetched from");
    }
    Ok(false)
}
