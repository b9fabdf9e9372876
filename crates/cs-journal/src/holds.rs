//! Who in one process holds what of a ledger: what keeps two tasks from acting for the same thing.

use std::collections::BTreeSet;

use cs_model::OperationId;

use crate::Action;
use crate::state::{LandingKey, LedgerState, RunKey, Stage};

/// The holds of one process. They die with it, so that its successor finds everything free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holds {
    in_flight: BTreeSet<OperationId>,
    runs: BTreeSet<RunKey>,
    landings: BTreeSet<LandingKey>,
}

impl Holds {
    /// Puts an operation in flight whose intent was just written.
    pub fn fly(&mut self, operation: OperationId) {
        self.in_flight.insert(operation);
    }

    /// Puts a pending operation in flight again; says whether it did, which it does not for one that is over or in flight.
    pub fn fly_again(&mut self, state: &LedgerState, operation: OperationId) -> bool {
        state.claims().contains_key(&operation) && self.in_flight.insert(operation)
    }

    /// Ends a flight. The operation is pending again unless the ledger says that it is over.
    pub fn land(&mut self, operation: OperationId) {
        self.in_flight.remove(&operation);
    }

    /// Returns the operations whose result is unknown and that nobody waits for (CJ-22).
    #[must_use]
    pub fn pending(&self, state: &LedgerState) -> Vec<(OperationId, Action)> {
        let free = state
            .claims()
            .iter()
            .filter(|(operation, _)| !self.in_flight.contains(operation));
        free.map(|(operation, request)| (*operation, request.task.action()))
            .collect()
    }

    /// Takes hold of an attempt of a run; says whether it did, which it does not for one that somebody holds or that is over.
    pub fn hold_run(&mut self, state: &LedgerState, key: RunKey) -> bool {
        state.runs().contains_key(&key) && self.runs.insert(key)
    }

    /// Takes hold of an attempt that was just taken and of which nothing was done.
    pub(crate) fn hold_claimed(&mut self, state: &LedgerState, key: RunKey) -> bool {
        let entry = state.runs().get(&key);
        entry.is_some_and(|entry| entry.stage == Stage::Claimed) && self.hold_run(state, key)
    }

    /// Says whether somebody holds an attempt.
    #[must_use]
    pub fn is_held(&self, key: RunKey) -> bool {
        self.runs.contains(&key)
    }

    /// Gives an attempt back.
    pub fn release_run(&mut self, key: RunKey) {
        self.runs.remove(&key);
    }

    /// Takes hold of a landing, as [`hold_run`](Self::hold_run) does.
    pub fn hold_landing(&mut self, state: &LedgerState, key: LandingKey) -> bool {
        state.landings().contains_key(&key) && self.landings.insert(key)
    }

    /// Gives a landing back.
    pub fn release_landing(&mut self, key: LandingKey) {
        self.landings.remove(&key);
    }

    /// Counts operations in flight, and what is held and only starting (CJ-24).
    #[must_use]
    pub fn windows_open(&self, state: &LedgerState) -> usize {
        let run = |key: &&RunKey| {
            state
                .runs()
                .get(key)
                .is_some_and(|entry| entry.stage.is_starting())
        };
        let landing = |key: &&LandingKey| {
            state
                .landings()
                .get(key)
                .is_some_and(|entry| entry.stage.is_starting())
        };
        self.in_flight.len()
            + self.runs.iter().filter(run).count()
            + self.landings.iter().filter(landing).count()
    }
}
