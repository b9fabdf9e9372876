//! The user's base branch as it is now: its commit, and who holds it.

use bstr::ByteSlice;

use super::{Held, How, Refusal, preflight};
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
    /// The ref that was to be looked at too, where it is there.
    pub(crate) beside: Option<Held>,
}

/// Looks at a base, and at a ref of ours beside it, with one call of git, and a second where a working tree has the base checked out.
/// `None`: there is no such branch.
pub(super) async fn look(
    git: &Git,
    repository: &Repository,
    base: &BranchName,
    beside: Option<&str>,
) -> Result<Option<Base>, WorktreeError> {
    let full = base.full_ref();
    let format = "--format=%(refname)%00%(objectname)%00%(tree)%00%(worktreepath)";
    let list = repository.call("for-each-ref").args(["for-each-ref", format]);
    let out = git.ok(list.args(beside).arg(&full)).await?;
    let mut seen = None;
    // In the order of their names ours is the first, and no working tree has it; what comes after the base's is a path.
    let mut rest = out.as_slice();
    while let Some((name, fields)) = rest.split_once_str("\0") {
        let mut fields = fields.splitn_str(3, "\0");
        let mut oid = || parse::oid("for-each-ref", fields.next().unwrap_or_default());
        let (tip, tree) = (oid()?, oid()?);
        let held = fields.next().ok_or(GitError::Unreadable {
            op: "for-each-ref",
            what: "four fields were expected",
        })?;
        if name == full.as_bytes() {
            let way = way(git, repository, base, held).await?;
            return Ok(Some(Base {
                tip,
                tree,
                way,
                beside: seen,
            }));
        }
        seen = beside
            .filter(|beside| beside.as_bytes() == name)
            .map(|beside| Held {
                name: beside.to_owned(),
                commit: tip,
            });
        rest = held.split_once_str("\n").map_or(&[], |(_, rest)| rest);
    }
    Ok(None)
}

async fn way(
    git: &Git,
    repository: &Repository,
    base: &BranchName,
    held: &[u8],
) -> Result<Result<How, Refusal>, WorktreeError> {
    if !held.trim_ascii().is_empty() {
        return preflight::way(git, repository, base).await;
    }
    Ok(match busy::elsewhere(&repository.common_dir, &base.full_ref()) {
        None => Ok(How::NotCheckedOut),
        Some(what) => Err(Refusal::BaseBusy(what)),
    })
}
