//! The owners of attempts of runs.

use std::fmt;
use std::sync::Arc;

use cs_fence::Attempt;
use cs_model::{OperationId, Time};

use super::Recovered;
use crate::ClaimedRun;
use crate::error::{LedgerError, NotDurable};
use crate::event::{Event, RunEvent};
use crate::journal::Shared;
use crate::state::{Execution, RunEntry, RunKey, Stage};

mod end;
mod start;

/// An attempt at a stage. While the value lives nobody else in this process can get the attempt; dropping it changes
/// nothing in the ledger and gives the attempt back to the next [`recover`](crate::Journal::recover).
#[derive(Debug)]
#[must_use = "dropping it gives the attempt back; it goes on only in the next pass"]
pub struct Held<S> {
    hold: Hold,
    about: Box<About>,
    stage: S,
}

/// An attempt that a claim took and nobody has prepared.
pub type Claimed = Held<AtClaim>;
/// An attempt with an execution directory, of which nothing runs.
pub type Prepared = Held<AtPreparation>;
/// An attempt whose shim is held without the prompt.
pub type Registered = Held<AtRegistration>;
/// An attempt whose agent works.
pub type Started = Held<AtExecution>;
/// An attempt that has ended, with an outcome that the record does not have yet.
pub type Settling = Held<AtOutcome>;
/// An attempt whose outcome the record has, and whose execution is still to be closed and accounted for.
pub type Acknowledged = Held<AtAcknowledgement>;
/// An attempt that could not be started, which the record does not know yet.
pub type FailedPreparation = Held<AtFailure>;
/// An attempt that was cut short, which the record does not know yet.
pub type InterruptReceipt = Held<AtReceipt>;

/// The stage of [`Claimed`].
#[derive(Debug)]
pub struct AtClaim(());

/// The stage of [`Prepared`].
#[derive(Debug)]
pub struct AtPreparation {
    dir: String,
}

/// The stage of [`Registered`].
#[derive(Debug)]
pub struct AtRegistration {
    dir: String,
    shim: String,
}

/// The stage of [`Started`].
#[derive(Debug)]
pub struct AtExecution {
    execution: Execution,
}

/// The stage of [`Settling`].
#[derive(Debug)]
pub struct AtOutcome {
    execution: Execution,
    outcome: String,
}

/// The stage of [`Acknowledged`].
#[derive(Debug)]
pub struct AtAcknowledgement {
    execution: Execution,
}

/// The stage of [`FailedPreparation`].
#[derive(Debug)]
pub struct AtFailure {
    dir: Option<String>,
    reason: String,
}

/// The stage of [`InterruptReceipt`].
#[derive(Debug)]
pub struct AtReceipt {
    dir: Option<String>,
    operation: OperationId,
    at: Time,
}

impl<S> Held<S> {
    /// Returns the attempt.
    #[must_use]
    pub const fn attempt(&self) -> Attempt {
        self.about.attempt
    }

    /// Returns the row that the claim gave.
    #[must_use]
    pub const fn row(&self) -> &ClaimedRun {
        &self.about.row
    }

    /// Returns the operation that took the attempt; nothing when it was imported.
    #[must_use]
    pub const fn operation(&self) -> Option<OperationId> {
        self.about.operation
    }
}

impl<S: fmt::Debug> Held<S> {
    /// Makes a step durable and goes to the next stage, or stays at this one.
    fn step<T>(self, did: RunEvent, next: impl FnOnce(S) -> T) -> Result<Held<T>, NotDurable<Self>> {
        let committed = self.hold.commit(did);
        self.stepped(committed, next)
    }

    fn prepare_in(self, dir: &str) -> Result<Prepared, NotDurable<Self>> {
        let dir = dir.to_owned();
        let committed = self.hold.shared.commit_preparation(&self.about.attempt, &dir);
        self.stepped(committed, |_| AtPreparation { dir })
    }

    fn stepped<T>(
        self,
        committed: Result<(), LedgerError>,
        next: impl FnOnce(S) -> T,
    ) -> Result<Held<T>, NotDurable<Self>> {
        match committed {
            Ok(()) => Ok(Held {
                hold: self.hold,
                about: self.about,
                stage: next(self.stage),
            }),
            Err(error) => Err(NotDurable {
                state: Box::new(self),
                error,
            }),
        }
    }

    /// Makes the last step durable.
    fn end(self, did: RunEvent) -> Result<(), NotDurable<Self>> {
        self.step(did, |_| ()).map(drop)
    }

    fn fail(self, reason: &str, dir: Option<String>) -> Result<FailedPreparation, NotDurable<Self>> {
        let reason = reason.to_owned();
        let did = RunEvent::Failed {
            reason: reason.clone(),
        };
        self.step(did, |_| AtFailure { dir, reason })
    }

    fn interrupt(self, dir: Option<String>) -> Result<InterruptReceipt, NotDurable<Self>> {
        let deps = &self.hold.shared.deps;
        let operation = OperationId::from_uuid(deps.ids.uuid_v7());
        let at = deps.clock.now();
        let did = RunEvent::Interrupted { operation, at };
        self.step(did, |_| AtReceipt { dir, operation, at })
    }
}

/// What does not change from stage to stage.
#[derive(Debug)]
struct About {
    row: ClaimedRun,
    attempt: Attempt,
    operation: Option<OperationId>,
}

impl About {
    fn of(entry: &RunEntry) -> Box<Self> {
        Box::new(Self {
            row: entry.row.clone(),
            attempt: entry.attempt,
            operation: entry.operation,
        })
    }
}

/// The right to act for one attempt in this process.
#[derive(Debug)]
pub(super) struct Hold {
    shared: Arc<Shared>,
    key: RunKey,
}

impl Hold {
    /// Wraps a key that was just put among the held ones.
    pub(super) fn of(shared: &Arc<Shared>, key: RunKey) -> Self {
        Self {
            shared: Arc::clone(shared),
            key,
        }
    }

    fn commit(&self, did: RunEvent) -> Result<(), LedgerError> {
        let (run, epoch) = self.key;
        self.shared.commit(&Event::Run { run, epoch, did })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shared.lock().holds.release_run(self.key);
    }
}

/// Puts an attempt where its stage belongs.
pub(super) fn sort(found: &mut Recovered, hold: Hold, entry: &RunEntry) {
    let about = About::of(entry);
    match entry.stage.clone() {
        Stage::Claimed => found.claimed.push(Held {
            hold,
            about,
            stage: AtClaim(()),
        }),
        Stage::Prepared { dir } => found.prepared.push(Held {
            hold,
            about,
            stage: AtPreparation { dir },
        }),
        Stage::Registered { dir, shim } => found.registered.push(Held {
            hold,
            about,
            stage: AtRegistration { dir, shim },
        }),
        Stage::Started(execution) => found.started.push(Held {
            hold,
            about,
            stage: AtExecution { execution },
        }),
        Stage::Settling { execution, outcome } => found.settling.push(Held {
            hold,
            about,
            stage: AtOutcome { execution, outcome },
        }),
        Stage::Acknowledged(execution) => found.acknowledged.push(Held {
            hold,
            about,
            stage: AtAcknowledgement { execution },
        }),
        Stage::Failed { dir, reason } => found.failed.push(Held {
            hold,
            about,
            stage: AtFailure { dir, reason },
        }),
        Stage::Interrupted { dir, operation, at } => found.receipts.push(Held {
            hold,
            about,
            stage: AtReceipt { dir, operation, at },
        }),
    }
}
