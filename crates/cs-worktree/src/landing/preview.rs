//! What a landing would come to, for somebody who only wants to know.

use super::plan::{self, Making};
use super::quarantine::Quarantine;
use super::{LandMethod, LandingPlan, LandingSpec, Move};
use crate::Worktrees;
use crate::error::WorktreeError;
use crate::keys::{BranchName, LandingKey, Oid};
use crate::pattern::BranchPattern;
use crate::repository::Repository;
use crate::store::{self, Store};
use crate::tree::TreeSpec;

/// The landing that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewSpec {
    /// The card.
    pub tree: TreeSpec,
    /// The user's branch to land on.
    pub base: BranchName,
    /// How.
    pub method: LandMethod,
    /// The branches that must not be moved here.
    pub protected: Vec<BranchPattern>,
}

/// What it would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// As of a landing now. A move in it is not for carrying out: its commit is gone.
    pub plan: LandingPlan,
    /// How many commits the card has that the base has not.
    pub commits: usize,
    /// How many of them are not the card's: it began on them, and the base it is to land on does not have them.
    pub others: usize,
    /// How many files the move would change; 0 without one.
    pub files: usize,
}

impl Worktrees {
    /// Says what landing a card would come to, with what is committed in its tree now, or was saved of it where the tree is not here, and
    /// with what the person has committed on its branch.
    ///
    /// What it makes goes with it; in the store are the branches of the user's repository as they are now. It asks no remote and runs
    /// no verify command.
    ///
    /// # Errors
    /// [`WorktreeError::NoCard`]: the card was never worked on here. [`WorktreeError::CodebaseBusy`], or git failed.
    pub async fn preview_landing(
        &self,
        repository: &Repository,
        asked: &PreviewSpec,
    ) -> Result<Preview, WorktreeError> {
        let _lock = self.lock(&asked.tree.codebase).await?;
        let store = self.store(&asked.tree.codebase);
        store.refresh(repository).await?;
        let head = self.head_now(&store, &asked.tree).await?;
        let head = with_persons(&store, &asked.tree, head).await?;
        let spec = LandingSpec {
            landing: LandingKey::new("preview").expect("it is a plain word"),
            tree: asked.tree.clone(),
            base: asked.base.clone(),
            method: asked.method,
            protected: asked.protected.clone(),
            head: head.clone(),
            message: "Preview".to_owned(),
            author: self.git().identity().clone(),
        };
        let quarantine = Quarantine::new(&store)?;
        let making = Making {
            quarantine: &quarantine,
            is_kept: false,
        };
        let plan = plan::plan(&store, repository, &spec, making).await?;
        let (commits, others, files) = match &plan {
            LandingPlan::Ready(planned) => (
                store.count(&planned.old, &head).await?,
                others(&store, &asked.tree, planned).await?,
                super::preflight::changes(&quarantine.apart(), planned)
                    .await?
                    .len(),
            ),
            LandingPlan::AlreadyLanded { .. }
            | LandingPlan::NothingToLand
            | LandingPlan::Conflict(_)
            | LandingPlan::Refused(_) => (0, 0, 0),
        };
        Ok(Preview {
            plan,
            commits,
            others,
            files,
        })
    }
}

/// Where the card would stand with what the person has committed on its branch after this head.
async fn with_persons(store: &Store, tree: &TreeSpec, head: Oid) -> Result<Oid, WorktreeError> {
    let tip = store.own_ref(&store::base_ref(&tree.branch)).await?;
    Ok(match tip {
        Some(tip) if store.is_ancestor(&head, &tip).await? => tip,
        Some(_) | None => head,
    })
}

/// How many commits before the card's own come to the base with them.
async fn others(store: &Store, tree: &TreeSpec, planned: &Move) -> Result<usize, WorktreeError> {
    match store.own_ref(&store::card_base_ref(&tree.card)).await? {
        Some(began) => store.count(&planned.old, &began).await,
        None => Ok(0),
    }
}
