//! Journal rows: what an operation did, once and for all.

use std::fmt;

use cs_fence::InterruptOutcome;
use cs_journal::{Action, Receipt};
use cs_model::{MachineId, OperationId, RunId};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// What an operation did, once and for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEntry {
    /// It took work.
    Claimed {
        /// How.
        action: Action,
        /// What.
        receipt: Receipt,
    },
    /// It reported interruptions.
    Interrupted(Vec<(RunId, InterruptOutcome)>),
    /// It was fenced before it came.
    Cancelled,
}

/// A journal row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRow {
    /// The operation.
    pub operation: OperationId,
    /// The machine that began it.
    pub machine: MachineId,
    /// What it did.
    pub entry: JournalEntry,
}

/// The text under which interruptions are journaled; the actions of claims have texts of their own.
const INTERRUPT: &str = "interrupt";
const CANCELLED: &str = "cancelled";

#[derive(Serialize, Deserialize)]
struct StoredInterruption {
    run: RunId,
    outcome: String,
}

impl JournalEntry {
    /// Returns the text that a store keeps as the kind of the entry.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Claimed { action, .. } => action.as_str(),
            Self::Interrupted(_) => INTERRUPT,
            Self::Cancelled => CANCELLED,
        }
    }

    /// Returns the JSON text that a store keeps as the result: ids, kinds, epochs and times, no bodies.
    ///
    /// # Errors
    /// Never for values that the rules make.
    pub fn to_json(&self) -> Result<String, StoreError> {
        let json = match self {
            Self::Claimed { receipt, .. } => serde_json::to_string(receipt),
            Self::Interrupted(outcomes) => {
                let rows: Vec<_> = outcomes.iter().map(StoredInterruption::from).collect();
                serde_json::to_string(&rows)
            }
            Self::Cancelled => Ok("null".to_owned()),
        };
        json.map_err(|error| StoreError::Corrupt(format!("a journal result cannot be written: {error}")))
    }

    /// Reads what a store kept.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a kind or result that this binary does not know.
    pub fn from_stored(kind: &str, json: &str) -> Result<Self, StoreError> {
        let corrupt =
            |why: &dyn fmt::Display| StoreError::Corrupt(format!("journal row of kind `{kind}`: {why}"));
        match kind {
            CANCELLED => Ok(Self::Cancelled),
            INTERRUPT => {
                let rows: Vec<StoredInterruption> =
                    serde_json::from_str(json).map_err(|error| corrupt(&error))?;
                let outcomes = rows.iter().map(StoredInterruption::read).collect::<Option<_>>();
                outcomes
                    .map(Self::Interrupted)
                    .ok_or_else(|| corrupt(&"unknown outcome"))
            }
            _ => {
                let action = Action::ALL.iter().copied().find(|action| action.as_str() == kind);
                let action = action.ok_or_else(|| corrupt(&"unknown action"))?;
                let receipt = serde_json::from_str(json).map_err(|error| corrupt(&error))?;
                Ok(Self::Claimed { action, receipt })
            }
        }
    }
}

const OUTCOMES: [(InterruptOutcome, &str); 4] = [
    (InterruptOutcome::Interrupted, "interrupted"),
    (InterruptOutcome::AlreadyInterrupted, "already_interrupted"),
    (InterruptOutcome::Continued, "continued"),
    (InterruptOutcome::Stale, "stale"),
];

impl From<&(RunId, InterruptOutcome)> for StoredInterruption {
    fn from((run, outcome): &(RunId, InterruptOutcome)) -> Self {
        let text = match outcome {
            InterruptOutcome::Interrupted => OUTCOMES[0].1,
            InterruptOutcome::AlreadyInterrupted => OUTCOMES[1].1,
            InterruptOutcome::Continued => OUTCOMES[2].1,
            InterruptOutcome::Stale => OUTCOMES[3].1,
        };
        Self {
            run: *run,
            outcome: text.to_owned(),
        }
    }
}

impl StoredInterruption {
    fn read(&self) -> Option<(RunId, InterruptOutcome)> {
        let known = OUTCOMES.iter().find(|(_, text)| *text == self.outcome);
        known.map(|(outcome, _)| (self.run, *outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &str, json: &str) {
        let read = JournalEntry::from_stored(kind, json);
        assert!(
            matches!(read, Err(StoreError::Corrupt(_))),
            "{kind} {json}: {read:?}"
        );
    }

    /// CJ-18.
    #[test]
    fn an_unknown_action_is_an_error_and_no_default() {
        check("take_moons", r#"{"runs": [], "landings": []}"#);
    }

    /// RC-7: an outcome that nobody knows, and an answer without its run. The reporter then keeps its receipt.
    #[test]
    fn an_unknown_outcome_of_an_interruption_is_an_error_and_no_default() {
        let run: RunId = "00000000-0000-7000-8000-000000000007".parse().expect("an id");
        for (outcome, name) in OUTCOMES {
            let json = format!(r#"[{{"run": "{run}", "outcome": "{name}"}}]"#);
            let read = JournalEntry::from_stored(INTERRUPT, &json);
            assert_eq!(read.ok(), Some(JournalEntry::Interrupted(vec![(run, outcome)])));
        }
        check(INTERRUPT, &format!(r#"[{{"run": "{run}", "outcome": "lost"}}]"#));
        check(INTERRUPT, &format!(r#"[{{"run": "{run}"}}]"#));
        check(INTERRUPT, r#"[{"outcome": "stale"}]"#);
    }
}
