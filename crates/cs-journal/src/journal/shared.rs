//! The one ledger of a process under its lock, and who holds what of it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cs_fence::Attempt;
use cs_model::OperationId;

use super::Deps;
use crate::error::{JournalError, LedgerError};
use crate::event::Event;
use crate::ledger::Ledger;
use crate::owner::{Claimed, LandingClaimed};
use crate::state::{LandingKey, RunKey};
use crate::{Action, ClaimError, ClaimRequest, ClaimedRun, Receipt};

/// The one ledger of a process, and who holds what of it.
pub(crate) struct Shared {
    pub(crate) deps: Deps,
    inner: Mutex<Inner>,
}

/// What is under the lock.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) ledger: Ledger,
    in_flight: BTreeSet<OperationId>,
    pub(crate) held_runs: BTreeSet<RunKey>,
    pub(crate) held_landings: BTreeSet<LandingKey>,
}

impl Inner {
    pub(super) fn windows_open(&self) -> usize {
        let state = self.ledger.state();
        let is_starting = |key: &&RunKey| {
            state
                .runs()
                .get(key)
                .is_some_and(|entry| entry.stage.is_starting())
        };
        let is_waiting = |key: &&LandingKey| {
            state
                .landings()
                .get(key)
                .is_some_and(|entry| entry.stage.is_starting())
        };
        self.in_flight.len()
            + self.held_runs.iter().filter(is_starting).count()
            + self.held_landings.iter().filter(is_waiting).count()
    }
}

impl Shared {
    /// Wraps a ledger of which nobody holds anything.
    pub(super) const fn new(deps: Deps, ledger: Ledger) -> Self {
        let inner = Inner {
            ledger,
            in_flight: BTreeSet::new(),
            held_runs: BTreeSet::new(),
            held_landings: BTreeSet::new(),
        };
        Self {
            deps,
            inner: Mutex::new(inner),
        }
    }

    /// Takes the lock. A panic under it cannot leave a half-made change: the ledger changes its state in one step, after
    /// the write.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one event durable.
    pub(crate) fn commit(&self, event: &Event) -> Result<(), LedgerError> {
        self.lock().ledger.append(event)?;
        tracing::debug!(event = event.name(), "ledger");
        self.compact_if_due();
        Ok(())
    }

    pub(super) fn compact_if_due(&self) {
        let mut inner = self.lock();
        if inner.ledger.is_compaction_due()
            && let Err(error) = inner.ledger.compact()
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger could not be made smaller"
            );
        }
    }

    pub(super) fn begin(
        self: &Arc<Self>,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Flight, LedgerError> {
        let event = Event::ClaimBegun {
            operation,
            request: request.clone(),
        };
        let mut inner = self.lock();
        inner.ledger.append(&event)?;
        inner.in_flight.insert(operation);
        Ok(Flight {
            shared: Arc::clone(self),
            operation,
        })
    }

    pub(super) fn pending(&self) -> Vec<(OperationId, Action)> {
        let inner = self.lock();
        let claims = inner.ledger.state().claims().iter();
        claims
            .filter(|(operation, _)| !inner.in_flight.contains(operation))
            .map(|(operation, request)| (*operation, request.task.action()))
            .collect()
    }

    /// Puts a pending operation in flight again, unless it is over or somebody else has.
    pub(super) fn take_off(self: &Arc<Self>, operation: OperationId) -> Option<Flight> {
        let mut inner = self.lock();
        let is_pending = inner.ledger.state().claims().contains_key(&operation);
        (is_pending && inner.in_flight.insert(operation)).then(|| Flight {
            shared: Arc::clone(self),
            operation,
        })
    }

    pub(super) fn import(
        self: &Arc<Self>,
        row: &ClaimedRun,
        attempt: &Attempt,
    ) -> Result<Option<Claimed>, LedgerError> {
        let mut inner = self.lock();
        if inner.ledger.state().runs().contains_key(&(row.run, row.epoch)) {
            return Ok(None);
        }
        inner.ledger.append(&Event::RunKept {
            row: row.clone(),
            attempt: *attempt,
            operation: None,
        })?;
        Ok(Claimed::hold(self, &mut inner, (row.run, row.epoch)))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// The attempts that one operation took.
pub(super) type Taken = (Vec<Claimed>, Vec<LandingClaimed>);

/// An operation that this process is waiting for. Dropping it leaves it pending, unless it was recorded or cancelled.
#[derive(Debug)]
pub(super) struct Flight {
    shared: Arc<Shared>,
    pub(super) operation: OperationId,
}

impl Flight {
    pub(super) fn unanswered(&self, action: Action, source: ClaimError) -> JournalError {
        JournalError::Record {
            operation: self.operation,
            action,
            source,
        }
    }

    /// Writes what the operation took, and holds it before anybody else can see it.
    pub(super) fn record(&self, receipt: &Receipt) -> Result<Taken, LedgerError> {
        let event = Event::ClaimRecorded {
            operation: self.operation,
            receipt: receipt.clone(),
        };
        let mut inner = self.shared.lock();
        inner.ledger.append(&event)?;
        let runs = receipt.runs.iter().map(|row| (row.run, row.epoch));
        let runs = runs
            .filter_map(|key| Claimed::hold(&self.shared, &mut inner, key))
            .collect();
        let landings = receipt.landings.iter().map(|row| (row.landing, row.epoch));
        let landings = landings
            .filter_map(|key| LandingClaimed::hold(&self.shared, &mut inner, key))
            .collect();
        Ok((runs, landings))
    }

    pub(super) fn cancel(&self) -> Result<Taken, LedgerError> {
        self.shared.commit(&Event::ClaimCancelled {
            operation: self.operation,
        })?;
        Ok(Taken::default())
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.shared.lock().in_flight.remove(&self.operation);
    }
}
