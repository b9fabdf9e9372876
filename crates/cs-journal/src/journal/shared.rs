//! The one ledger of a process under its lock, and who holds what of it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cs_fence::Attempt;
use cs_model::OperationId;

use super::Deps;
use crate::error::{JournalError, LedgerError};
use crate::event::{Event, RunEvent};
use crate::holds::Holds;
use crate::ledger::Ledger;
use crate::owner::{Claimed, LandingClaimed};
use crate::state::RunKey;
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
    pub(crate) holds: Holds,
}

impl Inner {
    pub(super) fn windows_open(&self) -> usize {
        self.holds.windows_open(self.ledger.state())
    }

    /// Takes hold of an attempt that is still to be prepared.
    pub(crate) fn hold_claimed(&mut self, key: RunKey) -> bool {
        self.holds.hold_claimed(self.ledger.state(), key)
    }
}

impl Shared {
    /// Wraps a ledger of which nobody holds anything.
    pub(super) fn new(deps: Deps, ledger: Ledger) -> Self {
        let inner = Inner {
            ledger,
            holds: Holds::default(),
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
        self.committed(event);
        Ok(())
    }

    /// Makes the preparation of an attempt durable, unless another attempt of its run may still run here.
    pub(crate) fn commit_preparation(&self, attempt: &Attempt, dir: &str) -> Result<(), LedgerError> {
        let (run, epoch) = (attempt.run, attempt.epoch);
        let did = RunEvent::Prepared { dir: dir.to_owned() };
        let event = Event::Run { run, epoch, did };
        {
            let mut inner = self.lock();
            if let Some(other) = inner.ledger.state().running_beside((run, epoch)) {
                return Err(LedgerError::StillRuns {
                    attempt: *attempt,
                    other: other.attempt,
                    stage: other.stage.name(),
                });
            }
            inner.ledger.append(&event)?;
        }
        self.committed(&event);
        Ok(())
    }

    fn committed(&self, event: &Event) {
        tracing::debug!(event = event.name(), "ledger");
        self.compact_if_due();
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
        inner.holds.fly(operation);
        Ok(Flight {
            shared: Arc::clone(self),
            operation,
        })
    }

    pub(super) fn pending(&self) -> Vec<(OperationId, Action)> {
        let inner = self.lock();
        inner.holds.pending(inner.ledger.state())
    }

    /// Puts a pending operation in flight again, unless it is over or somebody else has.
    pub(super) fn take_off(self: &Arc<Self>, operation: OperationId) -> Option<Flight> {
        let mut inner = self.lock();
        let Inner { ledger, holds } = &mut *inner;
        holds.fly_again(ledger.state(), operation).then(|| Flight {
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
        self.shared.lock().holds.land(self.operation);
    }
}
