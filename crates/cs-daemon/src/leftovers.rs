//! What a machine keeps of cards that are over, and when nobody can need it any more.
//!
//! A plan comes first and says why for each thing; it is carried out apart. Nothing goes by its age alone but what is in the trash,
//! and nothing that was not saved: a tree comes into the trash only after all of it is in a ref.

mod machine;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use cs_model::{CardId, CardState, Time};
use cs_record::{Card, RecordError};
use cs_worktree::{CodebaseKey, RunRefs, StoreFiles, Trashed, WorktreeError};

pub use machine::MachineLeftovers;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a tree stays in the trash.
pub const TRASH_KEPT: Duration = DAY.saturating_mul(30);
/// How long an execution's directory, with its transcript, stays after its card is over.
pub const EXECUTIONS_KEPT: Duration = DAY.saturating_mul(30);
/// How long the refs of an attempt, its snapshots too, stay after its card is over.
pub const RUN_REFS_KEPT: Duration = DAY.saturating_mul(90);

/// Finds and removes what nobody can need any more.
#[async_trait]
pub trait Leftovers: fmt::Debug + Send + Sync {
    /// Lists what may go now, the oldest first, and why. Nothing is changed.
    ///
    /// # Errors
    /// [`LeftoversError`].
    async fn find(&self, now: Time) -> Result<Vec<Leftover>, LeftoversError>;

    /// Removes what was found, as far as it may still go. It can be done again.
    ///
    /// # Errors
    /// [`LeftoversError`]; what was not removed is found again.
    async fn remove(&self, found: &[Leftover], now: Time) -> Result<Removed, LeftoversError>;
}

/// One thing that may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// What it is.
    pub what: What,
    /// Its card, where that is known.
    pub card: Option<CardId>,
    /// Since when its time runs: it was put away then, or its card was over. For what has no time of its own, now.
    pub since: Time,
}

/// What may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A tree in the trash.
    Tree(Trashed),
    /// The directory of an execution, with what its agent wrote.
    Execution {
        /// The name of the execution.
        name: String,
    },
    /// The refs of an attempt in the store.
    RunRefs {
        /// The codebase.
        codebase: CodebaseKey,
        /// The refs.
        refs: RunRefs,
    },
    /// The many files of a store, which is packed anew: nothing in it goes.
    StoreFiles(StoreFiles),
}

impl What {
    /// Says why it may go.
    #[must_use]
    pub const fn why(&self) -> &'static str {
        match self {
            Self::Tree(_) => "in the trash for over 30 days, and all of it but ignored files is saved",
            Self::Execution { .. } => "its card is over for more than 30 days, and nothing of it is left",
            Self::RunRefs { .. } => "its card is over for more than 90 days, and has no tree",
            Self::StoreFiles(_) => {
                "the store is in very many files; it is packed anew, and keeps all that it has"
            }
        }
    }
}

/// What was removed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Trees in the trash.
    pub trees: usize,
    /// Directories of executions.
    pub executions: usize,
    /// Attempts whose refs went.
    pub runs: usize,
    /// Stores that were packed anew.
    pub packed: usize,
    /// What could not be removed, and why.
    pub kept: Vec<String>,
}

/// Why leftovers cannot be found or removed.
#[derive(Debug, thiserror::Error)]
pub enum LeftoversError {
    /// The record does not answer.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Git or the disk refuses.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// The state directory cannot be read.
    #[error("the state directory cannot be read")]
    State(#[source] std::io::Error),
}

/// For a machine that keeps all it has.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeepEverything;

#[async_trait]
impl Leftovers for KeepEverything {
    async fn find(&self, _now: Time) -> Result<Vec<Leftover>, LeftoversError> {
        Ok(Vec::new())
    }

    async fn remove(&self, _found: &[Leftover], _now: Time) -> Result<Removed, LeftoversError> {
        Ok(Removed::default())
    }
}

/// Says since when a card is over; nothing while somebody may go on with it. A failed or stopped card waits for a person.
fn over_since(card: &Card) -> Option<Time> {
    match card.state {
        CardState::Landed | CardState::Closed => Some(card.updated_at),
        CardState::Open | CardState::Failed | CardState::Stopped => None,
    }
}

/// Says whether something that began then has lasted so long.
fn is_past(since: Time, kept: Duration, now: Time) -> bool {
    now.since(since) >= kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_past_when_it_is_over_and_never_before_it_began() {
        let then = Time::from_unix_micros(1_000_000);
        let after = |days: u32| then.plus(DAY.saturating_mul(days));
        assert!(!is_past(then, TRASH_KEPT, after(29)));
        assert!(is_past(then, TRASH_KEPT, after(30)));
        assert!(!is_past(after(60), TRASH_KEPT, then), "a clock that went back");
    }
}
