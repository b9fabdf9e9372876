//! A real linked working tree of the user's repository on a card's branch, for a person who wants to open it there.

use std::path::Path;

use crate::Worktrees;
use crate::error::WorktreeError;
use crate::repository::Repository;
use crate::runner::{COPY_LIMIT, Call, World};
use crate::tree::TreeSpec;

impl Worktrees {
    /// Makes a linked working tree at a new place, on the card's branch in the user's repository, and locks it, so that git
    /// does not prune it. It is the user's from then on: while it is there the card's branch is checked out and is not moved.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`]: the card has no branch in the user's repository; [`WorktreeError::Occupied`]; or git failed, also
    /// because the branch is checked out elsewhere.
    pub async fn export_worktree(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
        to: &Path,
    ) -> Result<(), WorktreeError> {
        if to.symlink_metadata().is_ok() || !to.is_absolute() {
            return Err(WorktreeError::Occupied { path: to.to_owned() });
        }
        if repository.branch_tip(self.git(), &spec.branch).await?.is_none() {
            return Err(WorktreeError::NoCard);
        }
        let add = Call::new(World::User, "worktree add")
            .cwd(&repository.toplevel)
            .limit(COPY_LIMIT);
        let add = add.args([
            "worktree",
            "add",
            "--quiet",
            "--lock",
            "--reason",
            "opened by cs-panel",
        ]);
        self.git()
            .ok(add.arg("--").arg(to).arg(spec.branch.as_str()))
            .await?;
        Ok(())
    }
}
