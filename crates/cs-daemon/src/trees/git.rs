//! The trees and landings of a machine, by git.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cs_model::{CodebaseId, Epoch, LandingTarget, RunId};
use cs_record::{Card, LandingBrief};
use cs_worktree::{
    BranchName, BranchPattern, Identity, LandMethod, LandingSpec, LocalAfterPublish, Move, MoveOutcome,
    MoveRecovery, PersonCommits, Publish, PublishTo, Published, RepoPath, Repository, RunKey, Throwaway,
    TreeSpec, Verdict, Worktrees,
};

use super::{
    BasePush, Landings, Planned, Saved, TreeError, Trees, Workplace, landing_key, run_key, tree_spec,
};
use crate::deps::Checkouts;

/// How long a remote may take to answer a push.
const PUSH_LIMIT: Duration = Duration::from_secs(120);

/// Trees of the codebases of which this machine has a checkout.
#[derive(Debug)]
pub struct GitTrees {
    worktrees: Worktrees,
    checkouts: Arc<dyn Checkouts>,
}

/// A card's tree and the repository that it comes from.
#[derive(Debug, Clone)]
struct CardTree {
    codebase: CodebaseId,
    spec: TreeSpec,
    repository: Repository,
}

impl GitTrees {
    /// Works with these stores and trees, for these checkouts.
    #[must_use]
    pub fn new(worktrees: Worktrees, checkouts: Arc<dyn Checkouts>) -> Self {
        Self { worktrees, checkouts }
    }

    /// Finds the tree that belongs to a card and the user's repository; nothing for a card without a codebase.
    async fn card_tree(&self, card: &Card) -> Result<Option<CardTree>, TreeError> {
        let Some(codebase) = card.codebase else {
            return Ok(None);
        };
        let spec = tree_spec(card)?.ok_or(TreeError::NoBase)?;
        let checkout: PathBuf = self.checkouts.checkout(codebase).ok_or(TreeError::NoCheckout)?;
        let seen = Repository::inspect(self.worktrees.git(), &checkout).await?;
        Ok(Some(CardTree {
            codebase,
            spec,
            repository: seen.repository,
        }))
    }
}

#[async_trait]
impl Trees for GitTrees {
    async fn make_ready(&self, card: &Card) -> Result<Option<Workplace>, TreeError> {
        let Some(found) = self.card_tree(card).await? else {
            return Ok(None);
        };
        let prepared = self
            .worktrees
            .prepare_tree(&found.repository, &found.spec)
            .await?;
        let preparation = self.checkouts.preparation(found.codebase);
        let brought = self
            .worktrees
            .bring_along(&found.repository, &prepared.tree, &preparation.bring)
            .await?;
        let ahead = self.worktrees.log_summary(&found.spec).await?.len();
        Ok(Some(Workplace {
            ahead,
            behind: prepared.base.behind,
            path: prepared.tree.path,
            branch: found.spec.branch.as_str().to_owned(),
            base: found.spec.base_branch.as_str().to_owned(),
            person: prepared.person,
            brought,
            setup: preparation.setup,
        }))
    }

    async fn save(&self, card: &Card, run: RunId, epoch: Epoch, reason: &str) -> Result<Saved, TreeError> {
        let Some(found) = self.card_tree(card).await? else {
            return Ok(Saved::NoCodebase);
        };
        let Some(tree) = self.worktrees.find_tree(&found.spec)? else {
            return Ok(Saved::TreeGone);
        };
        let key = run_key(run, epoch)?;
        let collected = self.worktrees.collect(&found.repository, &tree, &key).await?;
        tracing::info!(card = %card.id, %run, %epoch, ?collected, "collected");
        if collected.dirty {
            let salvage = self.worktrees.salvage(&tree, &key, reason).await?;
            tracing::info!(card = %card.id, %run, %epoch, ?salvage, "salvaged");
        }
        Ok(Saved::Everything {
            history_rewritten: collected.history_rewritten,
        })
    }

    async fn is_there(&self, card: &Card) -> Result<bool, TreeError> {
        let Some(spec) = tree_spec(card)? else {
            return Ok(false);
        };
        Ok(self.worktrees.find_tree(&spec)?.is_some())
    }

    async fn publish_card(&self, card: &Card) -> Result<Published, TreeError> {
        let found = self.card_tree(card).await?.ok_or(TreeError::NoBase)?;
        let Some(commit) = self.worktrees.card_head(&found.spec).await? else {
            return Ok(Published {
                to: None,
                verdict: Verdict::NotHere,
            });
        };
        let publish = Publish {
            codebase: found.spec.codebase,
            commit,
            to: PublishTo::Card {
                branch: found.spec.branch,
                base: found.spec.base_branch,
            },
            limit: PUSH_LIMIT,
        };
        Ok(self.worktrees.publish(&found.repository, &publish).await?)
    }

    async fn retire(&self, card: &Card, run: RunId, epoch: Epoch) -> Result<(), TreeError> {
        let Some(spec) = tree_spec(card)? else {
            return Ok(());
        };
        let Some(tree) = self.worktrees.find_tree(&spec)? else {
            return Ok(());
        };
        let key = run_key(run, epoch)?;
        let salvage = self.worktrees.salvage(&tree, &key, "the card is over").await?;
        match salvage.proof() {
            Some(proof) => {
                self.worktrees.discard(proof).await?;
                tracing::info!(card = %card.id, "the tree of a card that is over went to the trash");
            }
            None => {
                tracing::info!(card = %card.id, ?salvage, "a tree stays: it holds what a salvage cannot carry");
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Landings for GitTrees {
    async fn plan_landing(&self, brief: &LandingBrief, epoch: Epoch) -> Result<Planned, TreeError> {
        let Some(found) = self.card_tree(&brief.card).await? else {
            return Ok(Planned::NoCodebase);
        };
        let mut head = self.worktrees.card_head(&found.spec).await?;
        if let Some(tree) = self.worktrees.find_tree(&found.spec)? {
            let status = self.worktrees.status(&tree).await?;
            if !status.entries.is_empty() {
                let files: Vec<RepoPath> = status.entries.into_iter().map(|entry| entry.path).collect();
                return Ok(Planned::Uncommitted(files));
            }
            let key = run_key(RunId::from_uuid(brief.landing.id.as_uuid()), epoch)?;
            let collected = self.worktrees.collect(&found.repository, &tree, &key).await?;
            head = Some(collected.tip);
        }
        let Some(head) = head else {
            return Ok(Planned::NoWork);
        };
        let head = match self.worktrees.take_in(&found.repository, &found.spec).await? {
            PersonCommits::None => head,
            PersonCommits::Taken { .. } => self.worktrees.card_head(&found.spec).await?.unwrap_or(head),
            PersonCommits::Waiting { .. } => return Ok(Planned::Waiting(found.spec.branch)),
            PersonCommits::Diverged => return Ok(Planned::Beside(found.spec.branch)),
        };
        let message = brief.landing.message.clone();
        let policy = self.checkouts.landing(found.codebase)?;
        let base = match &brief.landing.base {
            Some(base) => BranchName::new(base.as_str())?,
            None => found.spec.base_branch.clone(),
        };
        // No base moves for a pull request.
        let is_request = policy.target == Some(LandingTarget::PullRequest);
        let protected = policy.protected.iter().filter(|_| !is_request);
        let protected = protected.map(|pattern| BranchPattern::new(pattern.as_str()));
        let protected = protected.collect::<Result<Vec<_>, _>>()?;
        let spec = LandingSpec {
            landing: landing_key(brief.landing.id)?,
            base,
            method: method_of(brief.landing.method.unwrap_or(policy.method)),
            protected,
            tree: found.spec,
            head,
            message: message.unwrap_or_else(|| brief.card.title.clone()),
            author: Identity {
                name: brief.landing.accepted_by.as_str().to_owned(),
                email: self.worktrees.git().identity().email.clone(),
            },
        };
        let plan = self.worktrees.plan_landing(&found.repository, &spec).await?;
        Ok(Planned::Plan(plan))
    }

    async fn execute_move(&self, plan: &Move) -> Result<MoveOutcome, TreeError> {
        Ok(self.worktrees.execute_move(plan).await?)
    }

    async fn recover_move(&self, plan: &Move) -> Result<MoveRecovery, TreeError> {
        Ok(self.worktrees.recover_move(plan).await?)
    }

    async fn push_base(&self, plan: &Move, target: Option<LandingTarget>) -> Result<BasePush, TreeError> {
        let base = plan.base_branch.clone();
        let publish = Publish {
            codebase: plan.codebase.clone(),
            commit: plan.new.clone(),
            to: match target {
                None => PublishTo::Followed { base },
                Some(_) => PublishTo::Base { base },
            },
            limit: PUSH_LIMIT,
        };
        if self.worktrees.base_moved(plan).await? {
            self.worktrees
                .await_former_push(&plan.repository, &publish)
                .await?;
            // A daemon before this one may have pushed it: then the remote has it, whatever became of the local one.
            let outlook = self.worktrees.outlook(&plan.repository, &publish).await?;
            if outlook.verdict != Verdict::UpToDate {
                return Ok(BasePush::BaseMoved);
            }
        }
        let published = self.worktrees.publish(&plan.repository, &publish).await?;
        Ok(BasePush::Tried(published))
    }

    async fn local_after_push(&self, plan: &Move) -> Result<LocalAfterPublish, TreeError> {
        Ok(self.worktrees.local_after_publish(plan).await?)
    }

    async fn make_throwaway(
        &self,
        plan: &Move,
        name: &RunKey,
        bring: &[String],
    ) -> Result<Throwaway, TreeError> {
        Ok(self.worktrees.make_throwaway(plan, name, bring).await?)
    }

    async fn throwaways(&self) -> Result<Vec<RunKey>, TreeError> {
        Ok(self.worktrees.throwaways()?)
    }

    async fn remove_throwaway(&self, name: &RunKey) -> Result<(), TreeError> {
        if !self.worktrees.remove_throwaway(name).await? {
            tracing::info!(
                clone = name.as_str(),
                "something works in a clone that is over; it stays for now"
            );
        }
        Ok(())
    }
}

/// The way to land, in the words of git's side.
#[must_use]
pub const fn method_of(method: cs_model::LandMethod) -> LandMethod {
    match method {
        cs_model::LandMethod::Merge => LandMethod::Merge,
        cs_model::LandMethod::Squash => LandMethod::Squash,
        cs_model::LandMethod::Rebase => LandMethod::Rebase,
    }
}
