//! How the local base stands to a commit that its remote has.

use serde::{Deserialize, Serialize};

use crate::Worktrees;
use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::landing::{self, Move, Refusal};

/// How the user's base stands to a landing that is published already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalAfterPublish {
    /// It contains the landing: all is done.
    Holds,
    /// It can be fast-forwarded: journal this move, then execute it.
    Movable(Move),
    /// It has commits that the remote does not have. The remote holds the work, and the user pulls when they like.
    Diverged {
        /// The commit of the local branch.
        tip: Oid,
        /// How many commits only the local branch has.
        own: usize,
    },
    /// It must not be moved now. The remote holds the work, and the user pulls when they like.
    Refused(Refusal),
}

impl Worktrees {
    /// Whether the base moved since a landing was planned on it, so that the planned commit, were it published, would not be what the
    /// base can be moved to. Cheap. One that holds that commit already has not.
    ///
    /// # Errors
    /// Git failed.
    pub async fn base_moved(&self, planned: &Move) -> Result<bool, WorktreeError> {
        let tip = planned
            .repository
            .branch_tip(self.git(), &planned.base_branch)
            .await?;
        let Some(tip) = tip else {
            return Ok(true);
        };
        if tip == planned.old {
            return Ok(false);
        }
        let holds = planned.repository.call("merge-base").args([
            "merge-base",
            "--is-ancestor",
            planned.new.as_str(),
            tip.as_str(),
        ]);
        // Git fails where the commit is not there at all.
        Ok(self.git().run(holds).await?.code != 0)
    }

    /// Says what can be done with the local base after the commit of a landing was published, however it moved meanwhile. Such a
    /// landing is not planned again: the remote holds that commit. Nothing of the user's is touched; after a crash it is asked again.
    ///
    /// # Errors
    /// [`WorktreeError::CodebaseBusy`], or git failed.
    pub async fn local_after_publish(&self, planned: &Move) -> Result<LocalAfterPublish, WorktreeError> {
        let _lock = self.lock(&planned.codebase).await?;
        let store = self.store(&planned.codebase);
        let base = landing::base_in_store(&store, &planned.repository, &planned.base_branch).await?;
        let Some(base) = base else {
            return Ok(LocalAfterPublish::Refused(Refusal::BaseMissing));
        };
        if store.is_ancestor(&planned.new, &base.tip).await? {
            return Ok(LocalAfterPublish::Holds);
        }
        if !store.is_ancestor(&base.tip, &planned.new).await? {
            return Ok(LocalAfterPublish::Diverged {
                own: store.count(&planned.new, &base.tip).await?,
                tip: base.tip,
            });
        }
        Ok(match base.way {
            Err(refusal) => LocalAfterPublish::Refused(refusal),
            Ok(how) => LocalAfterPublish::Movable(Move {
                old: base.tip,
                how,
                ..planned.clone()
            }),
        })
    }
}
