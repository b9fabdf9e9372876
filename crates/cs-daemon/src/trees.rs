//! Which tree belongs to a card, and what becomes of it.

mod git;

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use cs_model::{CodebaseId, Epoch, LandingId, LandingTarget, RunId};
use cs_record::{Card, LandingBrief};
use cs_worktree::{
    BranchName, BroughtAlong, CardKey, CodebaseKey, ErrorClass, InvalidName, LandingKey, LandingPlan,
    LocalAfterPublish, Move, MoveOutcome, MoveRecovery, PersonCommits, Published, RepoPath, RunKey,
    Throwaway, TreeSpec, WorktreeError,
};

use crate::context::Context;

pub use git::{GitTrees, method_of};

/// What the daemon asks of git about the trees of cards on this machine.
#[async_trait]
pub trait Trees: fmt::Debug + Send + Sync {
    /// Makes the tree of a card ready for an attempt; nothing for a card without a codebase. It can be done again.
    ///
    /// # Errors
    /// [`TreeError`]; what was made until then is found again.
    async fn make_ready(&self, card: &Card) -> Result<Option<Workplace>, TreeError>;

    /// Brings what an attempt left in its tree to where it is safe: its commits to the store and to the card's branch in the
    /// user's repository, and what it did not commit to a private ref. Nothing is removed. It can be done again.
    ///
    /// # Errors
    /// [`TreeError`]; all of it is still in the tree.
    async fn save(&self, card: &Card, run: RunId, epoch: Epoch, reason: &str) -> Result<Saved, TreeError>;

    /// Says whether a card has a tree here.
    ///
    /// # Errors
    /// [`TreeError`].
    async fn is_there(&self, card: &Card) -> Result<bool, TreeError>;

    /// Pushes the branch of a card to the remote of its base, fast-forward only, as far as the store has it. It can be done again.
    ///
    /// # Errors
    /// [`TreeError`]. What a remote answers is a verdict and no error.
    async fn publish_card(&self, card: &Card) -> Result<Published, TreeError>;

    /// Puts the tree of a card that is over into the trash, once everything in it is saved; otherwise it stays.
    ///
    /// # Errors
    /// [`TreeError`]; the tree stays.
    async fn retire(&self, card: &Card, run: RunId, epoch: Epoch) -> Result<(), TreeError>;
}

/// What the daemon asks of git about landings.
#[async_trait]
pub trait Landings: fmt::Debug + Send + Sync {
    /// Says what a landing comes to on its base as it is now. Nothing of the user's is touched, and it can be done again.
    ///
    /// # Errors
    /// [`TreeError`]; nothing was moved.
    async fn plan_landing(&self, brief: &LandingBrief, epoch: Epoch) -> Result<Planned, TreeError>;

    /// Moves a base, by compare-and-set from the value that was planned on.
    ///
    /// # Errors
    /// [`TreeError`]; whether it was moved, [`recover_move`](Self::recover_move) tells.
    async fn execute_move(&self, plan: &Move) -> Result<MoveOutcome, TreeError>;

    /// Finds what became of a move that nobody saw the end of, and undoes a half one. It can be done again.
    ///
    /// # Errors
    /// [`TreeError`].
    async fn recover_move(&self, plan: &Move) -> Result<MoveRecovery, TreeError>;

    /// Pushes the commit of a planned move to the remote's base, fast-forward only, unless the local base moved since. Without a target
    /// it goes only where the person publishes that base already. It can be done again.
    ///
    /// # Errors
    /// [`TreeError`]. What a remote answers is a verdict and no error.
    async fn push_base(&self, plan: &Move, target: Option<LandingTarget>) -> Result<BasePush, TreeError>;

    /// Says what can be done with the local base once the remote has the commit of a move.
    ///
    /// # Errors
    /// [`TreeError`].
    async fn local_after_push(&self, plan: &Move) -> Result<LocalAfterPublish, TreeError>;

    /// Makes a throw-away clone that holds the commit of a planned move, with the user's ignored files that match `bring`. One of that
    /// name that is there is made anew.
    ///
    /// # Errors
    /// [`TreeError`]; what was made until then goes with the next removal.
    async fn make_throwaway(
        &self,
        plan: &Move,
        name: &RunKey,
        bring: &[String],
    ) -> Result<Throwaway, TreeError>;

    /// Lists the throw-away clones that are there.
    ///
    /// # Errors
    /// [`TreeError`].
    async fn throwaways(&self) -> Result<Vec<RunKey>, TreeError>;

    /// Removes a throw-away clone, unless something works in it still. Slow; it can be done again.
    ///
    /// # Errors
    /// [`TreeError`].
    async fn remove_throwaway(&self, name: &RunKey) -> Result<(), TreeError>;
}

/// Where an attempt works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workplace {
    /// The root of the tree.
    pub path: PathBuf,
    /// The card's branch.
    pub branch: String,
    /// The branch that the card lands on.
    pub base: String,
    /// How many commits the branch has that the base has not; at most 200 are counted.
    pub ahead: usize,
    /// How many the base has that the branch has not.
    pub behind: usize,
    /// What became of commits that a person made on the card's branch.
    pub person: PersonCommits,
    /// What came along from the user's checkout, and what did not.
    pub brought: BroughtAlong,
    /// The command that makes the tree ready for an agent.
    pub setup: Option<String>,
}

/// What was there to save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// The card has no codebase.
    NoCodebase,
    /// The tree was removed while its agent ran.
    TreeGone,
    /// Everything.
    Everything {
        /// Whether the agent rewrote history; the old commits are kept in the store.
        history_rewritten: bool,
    },
}

/// What the push of a base came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BasePush {
    /// The local base moved since it was planned on: nothing was pushed.
    BaseMoved,
    /// It was tried.
    Tried(Published),
}

/// What a landing comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Planned {
    /// The card has no codebase.
    NoCodebase,
    /// The card was never worked on.
    NoWork,
    /// These files of the tree are not committed, and only commits land.
    Uncommitted(Vec<RepoPath>),
    /// The person's branch of this name has commits that do not come after the card's.
    Beside(BranchName),
    /// It has commits that do, and the card's tree is in no state to take them in.
    Waiting(BranchName),
    /// What git says.
    Plan(LandingPlan),
}

/// Why a card has no tree to work in. The text of [`public`](Self::public) holds no local path.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The codebase is not on this machine.
    #[error(
        "this machine has no checkout of the codebase: register it with `cs-panel codebase add PATH --name NAME`, by the name that \
         `cs-panel codebase list` shows, so that what was set of it holds again"
    )]
    NoCheckout,
    /// There is no branch to start from.
    #[error("the card does not say on which branch its work lands")]
    NoBase,
    /// What is noted of the codebases of this machine cannot be read.
    #[error("the list of this machine's checkouts cannot be read; `cs-panel codebase list` on it says why")]
    Checkouts(#[source] std::io::Error),
    /// A name of the card breaks the rules of git.
    #[error("the card's names cannot be used in git")]
    Name(#[from] InvalidName),
    /// Git or the disk refuses.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
}

impl TreeError {
    /// Says it without local paths.
    #[must_use]
    pub fn public(&self) -> String {
        match self {
            Self::NoCheckout | Self::NoBase | Self::Checkouts(_) | Self::Name(_) => self.to_string(),
            Self::Worktree(error) => error.public(),
        }
    }

    /// Says what can be done about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NoCheckout | Self::NoBase | Self::Name(_) => ErrorClass::Invalid,
            Self::Checkouts(_) => ErrorClass::Transient,
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
        worker_of: None,
    }))
}

/// Names a codebase's store.
fn codebase_key(codebase: CodebaseId) -> Result<CodebaseKey, InvalidName> {
    CodebaseKey::new(codebase.to_string())
}

/// Names the refs of one attempt.
fn run_key(run: RunId, epoch: Epoch) -> Result<RunKey, InvalidName> {
    RunKey::new(format!("{run}-{epoch}"))
}

/// Names a landing in git.
fn landing_key(landing: LandingId) -> Result<LandingKey, InvalidName> {
    LandingKey::new(landing.to_string())
}

impl Context {
    /// Saves what an attempt left in its tree, and says what could not be done; nothing is removed.
    pub(crate) async fn save_tree(&self, card: &Card, run: RunId, epoch: Epoch, reason: &str) {
        let of = card.id.short();
        match self.deps.trees.save(card, run, epoch, reason).await {
            Ok(Saved::NoCodebase) => {}
            Ok(Saved::TreeGone) => self.said(&format!(
                "card {of}: its tree was removed while its agent ran; it is made again from what was saved before"
            )),
            Ok(Saved::Everything { history_rewritten }) => {
                if history_rewritten {
                    self.said(&format!(
                        "card {of}: its agent rewrote history; the old commits are kept in the store"
                    ));
                }
            }
            Err(error) => {
                tracing::error!(card = %card.id, %run, %epoch, error = &error as &dyn std::error::Error, "the work of an attempt could not be saved");
                self.said(&format!(
                    "card {of}: the work in its tree could not be saved now, it stays where it is: {}",
                    crate::report::chain(&error)
                ));
            }
        }
    }
}
