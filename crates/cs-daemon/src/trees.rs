//! Which tree belongs to a card, and what becomes of it.

use std::path::PathBuf;

use cs_model::{CodebaseId, Epoch, LandingId, RunId};
use cs_record::Card;
use cs_worktree::{
    BranchName, CardKey, CodebaseKey, ErrorClass, InvalidName, LandingKey, Prepared, Repository, RunKey,
    Tree, TreeSpec, WorktreeError,
};

use crate::context::Context;

/// Why a card has no tree to work in. The text of [`public`](Self::public) holds no local path.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("this machine has no checkout of the codebase: register it with `cs-panel codebase add`")]
    NoCheckout,
    #[error("the card does not say on which branch its work lands")]
    NoBase,
    #[error("the card's names cannot be used in git")]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
}

impl TreeError {
    /// Says it without local paths.
    pub(crate) fn public(&self) -> String {
        match self {
            Self::NoCheckout | Self::NoBase | Self::Name(_) => self.to_string(),
            Self::Worktree(error) => error.public(),
        }
    }

    /// Says what can be done about it.
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::NoCheckout | Self::NoBase | Self::Name(_) => ErrorClass::Invalid,
            Self::Worktree(error) => error.class(),
        }
    }
}

/// Returns which tree belongs to a card; nothing when it has no codebase or no branch to land on.
///
/// # Errors
/// The card's base is no name of a branch.
pub fn tree_spec(card: &Card) -> Result<Option<TreeSpec>, InvalidName> {
    let (Some(codebase), Some(base)) = (card.codebase, &card.base) else {
        return Ok(None);
    };
    Ok(Some(TreeSpec {
        codebase: codebase_key(codebase)?,
        card: CardKey::new(card.id.to_string())?,
        branch: BranchName::for_card(&CardKey::new(card.id.short())?, &card.title),
        base_branch: BranchName::new(base.as_str())?,
    }))
}

/// Names a codebase's store.
fn codebase_key(codebase: CodebaseId) -> Result<CodebaseKey, InvalidName> {
    CodebaseKey::new(codebase.to_string())
}

/// Names the refs of one attempt.
pub(crate) fn run_key(run: RunId, epoch: Epoch) -> Result<RunKey, InvalidName> {
    RunKey::new(format!("{run}-{epoch}"))
}

/// Names a landing in git.
pub(crate) fn landing_key(landing: LandingId) -> Result<LandingKey, InvalidName> {
    LandingKey::new(landing.to_string())
}

/// A card's tree and the repository that it comes from.
#[derive(Debug, Clone)]
pub(crate) struct CardTree {
    pub(crate) spec: TreeSpec,
    pub(crate) repository: Repository,
}

impl Context {
    /// Finds the tree that belongs to a card and the user's repository; nothing for a card without a codebase.
    pub(crate) async fn card_tree(&self, card: &Card) -> Result<Option<CardTree>, TreeError> {
        let Some(codebase) = card.codebase else {
            return Ok(None);
        };
        let spec = tree_spec(card)?.ok_or(TreeError::NoBase)?;
        let checkout: PathBuf = self
            .deps
            .checkouts
            .checkout(codebase)
            .ok_or(TreeError::NoCheckout)?;
        let seen = Repository::inspect(self.deps.worktrees.git(), &checkout).await?;
        Ok(Some(CardTree {
            spec,
            repository: seen.repository,
        }))
    }

    /// Makes the tree of a card ready for an attempt.
    pub(crate) async fn prepare_tree(&self, tree: &CardTree) -> Result<Prepared, TreeError> {
        Ok(self
            .deps
            .worktrees
            .prepare_tree(&tree.repository, &tree.spec)
            .await?)
    }

    /// Brings what an attempt left in its tree to where it is safe: its commits to the store and to the card's branch in the
    /// user's repository, and what it did not commit to a private ref. Says what could not be done; nothing is removed.
    pub(crate) async fn save_tree(&self, card: &Card, run: RunId, epoch: Epoch, reason: &str) {
        if let Err(error) = self.try_save_tree(card, run, epoch, reason).await {
            tracing::error!(card = %card.id, %run, %epoch, error = &error as &dyn std::error::Error, "the work of an attempt could not be saved");
            self.deps.reporter.said(&format!(
                "card {}: the work in its tree could not be saved now, it stays where it is: {}",
                card.id.short(),
                crate::report::chain(&error)
            ));
        }
    }

    async fn try_save_tree(
        &self,
        card: &Card,
        run: RunId,
        epoch: Epoch,
        reason: &str,
    ) -> Result<(), TreeError> {
        let Some(found) = self.card_tree(card).await? else {
            return Ok(());
        };
        let worktrees = &self.deps.worktrees;
        let Some(tree) = worktrees.find_tree(&found.spec)? else {
            self.deps.reporter.said(&format!(
                "card {}: its tree was removed while its agent ran; it is made again from what was saved before",
                card.id.short()
            ));
            return Ok(());
        };
        let key = run_key(run, epoch)?;
        let collected = worktrees.collect(&found.repository, &tree, &key).await?;
        tracing::info!(card = %card.id, %run, %epoch, ?collected, "collected");
        if collected.history_rewritten {
            self.deps.reporter.said(&format!(
                "card {}: its agent rewrote history; the old commits are kept in the store",
                card.id.short()
            ));
        }
        if collected.dirty {
            let salvage = worktrees.salvage(&tree, &key, reason).await?;
            tracing::info!(card = %card.id, %run, %epoch, ?salvage, "salvaged");
        }
        Ok(())
    }

    /// Puts the tree of a card that is over into the trash, once everything in it is saved; otherwise it stays.
    pub(crate) async fn retire_tree(
        &self,
        card: &Card,
        tree: &Tree,
        run: RunId,
        epoch: Epoch,
    ) -> Result<(), TreeError> {
        let worktrees = &self.deps.worktrees;
        let salvage = worktrees
            .salvage(tree, &run_key(run, epoch)?, "the card is over")
            .await?;
        match salvage.proof() {
            Some(proof) => {
                worktrees.discard(proof).await?;
                tracing::info!(card = %card.id, "the tree of a card that is over went to the trash");
            }
            None => {
                tracing::info!(card = %card.id, ?salvage, "a tree stays: it holds what a salvage cannot carry")
            }
        }
        Ok(())
    }
}
