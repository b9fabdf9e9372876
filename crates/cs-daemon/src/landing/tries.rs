//! How often the steps of a landing were tried, and what it comes to when trying again helps nobody: as long as it is under way, no other
//! landing on its base begins. The ledger counts, so that a daemon which begins anew does not.

use cs_worktree::ErrorClass;

use super::ledger::{ResultRow, Step};
use super::words::Landed;
use crate::trees::TreeError;

/// How often a base may move under a landing before it is refused, or, once a remote has it, before the local base is left behind.
const MOVES_MAX: usize = 5;
/// How often git may fail in a landing in a way that may pass.
const TROUBLES_MAX: usize = 10;

/// How often something was written of a landing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tries {
    replans: usize,
    pushed: usize,
    troubles: usize,
}

impl Tries {
    /// Counts a step.
    pub(super) fn count(&mut self, step: &Step) {
        match step {
            Step::Replan => self.replans += 1,
            Step::Pushed { .. } => self.pushed += 1,
            Step::Trouble { .. } => self.troubles += 1,
            Step::Verify { .. }
            | Step::Verified { .. }
            | Step::Stopped { .. }
            | Step::Push { .. }
            | Step::Move { .. } => {}
        }
    }

    /// Whether the base moved too often before anything landed.
    pub(super) const fn are_too_many_replans(self) -> bool {
        self.replans > MOVES_MAX
    }

    /// Whether the local base moved too often after a remote had the work.
    pub(super) const fn are_too_many_follows(self) -> bool {
        self.pushed > MOVES_MAX
    }

    /// Whether it is no use to try again after one more error.
    pub(super) fn is_last(self, error: &TreeError) -> bool {
        error.class() != ErrorClass::Transient || self.troubles + 1 >= TROUBLES_MAX
    }
}

/// What a landing comes to whose base moves again and again.
pub(super) fn too_many_moves() -> ResultRow {
    ResultRow::Refused {
        report: format!(
            "Not landed: its base moved {MOVES_MAX} times while the landing was under way. Accept it again when it is quiet."
        ),
    }
}

/// What a landing comes to whose next step after this one cannot be made.
pub(super) fn given_up(last: Option<&Step>, error: &TreeError) -> ResultRow {
    let why = error.public();
    let report = match last {
        Some(
            Step::Pushed { plan, evidence, to }
            | Step::Move {
                plan,
                evidence,
                pushed: Some(to),
            },
        ) => {
            let of = Landed {
                plan,
                evidence: evidence.as_ref(),
                pushed: Some(to),
            };
            return of.but_local(&why);
        }
        Some(Step::Move { plan, .. }) => {
            let base = plan.base_branch.as_str();
            format!(
                "Not landed as far as is known: {why}. Put that right, look whether {base} holds the work, then accept it again: what has \
                 landed is found."
            )
        }
        Some(Step::Push { .. }) => format!(
            "Not landed as far as is known, since it could not be pushed: {why}. Nothing has moved here; put that right, run `git fetch` \
             to see what the remote has, then accept it again: what has landed is found."
        ),
        None
        | Some(
            Step::Verify { .. }
            | Step::Verified { .. }
            | Step::Stopped { .. }
            | Step::Replan
            | Step::Trouble { .. },
        ) => {
            format!("Not landed: {why}. Put that right, then accept it again.")
        }
    };
    ResultRow::Refused { report }
}
