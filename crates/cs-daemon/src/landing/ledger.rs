//! What the ledger keeps of a landing: its steps, and its result.

use cs_record::{Evidence, LandingResult};
use cs_worktree::Move;
use serde::{Deserialize, Serialize};

/// A step, as the ledger keeps it. Each is written before it is made, or says what came of the one before.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(super) enum Step {
    /// The merge of this move is about to be verified.
    Verify {
        /// The move.
        plan: Box<Move>,
        /// The execution in which that is done.
        execution: String,
        /// What is run there.
        job: Job,
    },
    /// The merge of this move was verified, whatever came of it.
    Verified {
        /// The move.
        plan: Box<Move>,
        /// What the command said.
        evidence: Evidence,
        /// The end of its output.
        said: String,
    },
    /// A person stopped the card while the verify ran: it is about to be ended, and nothing lands.
    Stopped {
        /// The execution.
        execution: String,
    },
    /// The commit of this move is about to be pushed to the remote's base, if there is one.
    Push {
        /// The move.
        plan: Box<Move>,
        /// What the verify command said of its commit.
        evidence: Option<Evidence>,
    },
    /// The remote has the commit of this move: it has landed. The local base is to follow.
    Pushed {
        /// The move.
        plan: Box<Move>,
        /// What the verify command said of its commit.
        evidence: Option<Evidence>,
        /// The branch of the remote, for people.
        to: String,
    },
    /// This move is about to be made.
    Move {
        /// The move.
        plan: Box<Move>,
        /// What the verify command said of its commit.
        #[serde(default)]
        evidence: Option<Evidence>,
        /// The branch of the remote that has the commit already, for people.
        #[serde(default)]
        pushed: Option<String>,
    },
    /// The last move was not made: its base had moved.
    Replan,
    /// What follows the step before could not be done now. Nothing else is said of it: it is to be done again.
    Trouble {
        /// Why, without local paths.
        why: String,
    },
}

impl Step {
    /// Whether it begins what a stop is to prevent. What may have landed already goes on to its end.
    pub(super) const fn begins_something(&self) -> bool {
        match self {
            Self::Verify { .. } | Self::Push { .. } => true,
            Self::Move { pushed, .. } => pushed.is_none(),
            Self::Verified { .. }
            | Self::Stopped { .. }
            | Self::Pushed { .. }
            | Self::Replan
            | Self::Trouble { .. } => false,
        }
    }
}

/// What is run to verify a merge, as the codebase had it when that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    /// The command that makes the clone ready.
    pub(super) setup: Option<String>,
    /// The command that has to succeed.
    pub(super) verify: String,
    /// How long both may take, in milliseconds.
    pub(super) limit_ms: u64,
}

/// A result, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub(super) enum ResultRow {
    /// The base holds the work.
    Landed {
        /// The commit.
        commit: String,
        /// For people.
        report: String,
        /// What the verify command said of that commit.
        #[serde(default)]
        evidence: Option<Evidence>,
    },
    /// It goes back to the agent.
    Conflict {
        /// For the agent.
        report: String,
    },
    /// It goes back to the agent.
    VerifyFailed {
        /// For the agent.
        report: String,
        /// What the command said.
        evidence: Evidence,
    },
    /// The card's branch is at the remote, and no base has moved.
    Published {
        /// For people.
        report: String,
    },
    /// It cannot be done as things are.
    Refused {
        /// For people.
        report: String,
    },
}

impl ResultRow {
    /// The word for it, and what is said to people.
    pub(super) fn told(&self) -> (&'static str, &str) {
        match self {
            Self::Landed { report, .. } => ("landed", report),
            Self::Conflict { report } => ("conflict", report),
            Self::VerifyFailed { report, .. } => ("verify_failed", report),
            Self::Published { report } => ("published", report),
            Self::Refused { report } => ("refused", report),
        }
    }
}

impl From<ResultRow> for LandingResult {
    fn from(row: ResultRow) -> Self {
        match row {
            ResultRow::Landed {
                commit,
                report,
                evidence,
            } => Self::Landed {
                commit,
                report,
                evidence,
            },
            ResultRow::Conflict { report } => Self::Conflict { report },
            ResultRow::VerifyFailed { report, evidence } => Self::VerifyFailed { report, evidence },
            ResultRow::Published { report } => Self::Published { report },
            ResultRow::Refused { report } => Self::Refused { report },
        }
    }
}
