//! The user's base branch as it is now: its commit, and who holds it.

use bstr::ByteSlice;

use super::{How, Refusal, preflight};
use crate::busy;
use crate::error::{GitError, WorktreeError};
use crate::keys::{BranchName, Oid};
use crate::parse;
use crate::repository::Repository;
use crate::runner::Git;

/// What a base is at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    /// Its commit.
    pub(crate) tip: Oid,
    /// The tree of that.
    pub(crate) tree: Oid,
    /// By which way it can be moved, or why it must not be.
    pub(crate) way: Result<How, Refusal>,
}

/// Looks at a base with one call of git, and a second where a working tree has it checked out. `None`: there is no such branch.
pub(super) async fn look(
    git: &Git,
    repository: &Repository,
    base: &BranchName,
) -> Result<Option<Base>, WorktreeError> {
    let full = base.full_ref();
    let format = "--format=%(refname)%00%(objectname)%00%(tree)%00%(worktreepath)";
    let list = repository.call("for-each-ref").args(["for-each-ref", format]);
    let out = git.ok(list.arg(&full)).await?;
    let mut fields = out.splitn_str(4, "\0");
    if fields.next() != Some(full.as_bytes()) {
        return Ok(None);
    }
    let mut oid = || parse::oid("for-each-ref", fields.next().unwrap_or_default());
    let (tip, tree) = (oid()?, oid()?);
    let held = fields.next().ok_or(GitError::Unreadable {
        op: "for-each-ref",
        what: "four fields were expected",
    })?;
    let way = if held.trim_ascii().is_empty() {
        match busy::elsewhere(&repository.common_dir, &full) {
            None => Ok(How::NotCheckedOut),
            Some(what) => Err(Refusal::BaseBusy(what)),
        }
    } else {
        preflight::way(git, repository, base).await?
    };
    Ok(Some(Base { tip, tree, way }))
}
