//! A real linked working tree of the user's repository on a card's branch, for a person who wants to open it there.

use std::path::Path;

use crate::Worktrees;
use crate::collect;
use crate::error::WorktreeError;
use crate::lfs;
use crate::repository::Repository;
use crate::runner::{COPY_LIMIT, Call, World};
use crate::store::{self, RefChange, RefMove};
use crate::tree::TreeSpec;

impl Worktrees {
    /// Makes a linked working tree at a new place, on the card's branch in the user's repository. Where the user has deleted the
    /// branch it is made again at what the card's agents have committed. The tree is the user's from then on: while it is there
    /// the card's branch is checked out and is not moved.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`]: the card was never worked on; [`WorktreeError::Occupied`]; [`WorktreeError::BranchInUse`]: the
    /// branch is checked out elsewhere; [`WorktreeError::BranchCollision`]; [`WorktreeError::CodebaseBusy`]; or git failed.
    pub async fn export_worktree(
        &self,
        repository: &Repository,
        spec: &TreeSpec,
        to: &Path,
    ) -> Result<(), WorktreeError> {
        if to.symlink_metadata().is_ok() || !to.is_absolute() {
            return Err(WorktreeError::Occupied { path: to.to_owned() });
        }
        let _lock = self.lock(&spec.codebase).await?;
        if repository.branch_tip(self.git(), &spec.branch).await?.is_none() {
            self.make_branch_again(repository, spec).await?;
        }
        let holders = repository.holders(self.git(), &spec.branch).await?;
        if let Some(checkout) = holders.checked_out.first() {
            return Err(WorktreeError::BranchInUse {
                branch: spec.branch.clone(),
                path: checkout.path.clone(),
            });
        }
        let add = Call::new(World::User, "worktree add")
            .cwd(&repository.toplevel)
            .limit(COPY_LIMIT);
        let add = add.args(["worktree", "add", "--quiet", "--"]);
        self.git().ok(add.arg(to).arg(spec.branch.as_str())).await?;
        Ok(())
    }

    async fn make_branch_again(&self, repository: &Repository, spec: &TreeSpec) -> Result<(), WorktreeError> {
        let store = self.store(&spec.codebase);
        if !store.dir.exists() {
            return Err(WorktreeError::NoCard);
        }
        let head = store.card_head(&spec.card).await?;
        self.refuse_collisions(repository, &spec.branch).await?;
        let from = store::head_ref(&spec.card);
        lfs::bring_to_user(&store, repository, &head, &[&store::card_base_ref(&spec.card)]).await?;
        collect::fetch_into(self.git(), repository, &store, &format!("+{from}:{from}")).await?;
        let change = RefChange {
            new: &head,
            old: None,
            note: "cs-panel: exported",
        };
        let call = repository.call("update-ref");
        match store::move_ref(self.git(), call, &spec.branch.full_ref(), change).await? {
            RefMove::Moved => Ok(()),
            RefMove::Stale => Err(WorktreeError::BranchCollision {
                branch: spec.branch.clone(),
                existing: spec.branch.as_str().to_owned(),
            }),
        }
    }
}
