//! The owners of attempts of runs.

use std::fmt;
use std::sync::Arc;

use cs_fence::{Attempt, Interruption};
use cs_model::{OperationId, Time};

use super::Recovered;
use crate::ClaimedRun;
use crate::error::{LedgerError, NotDurable};
use crate::event::{Event, RunEvent};
use crate::journal::{Inner, Shared};
use crate::state::{Execution, RunEntry, RunKey, Stage};

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
        match self.hold.commit(did) {
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

impl Claimed {
    /// Names the execution directory; from here the preparation owns the attempt.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn prepare(self, dir: &str) -> Result<Prepared, NotDurable<Self>> {
        let dir = dir.to_owned();
        let did = RunEvent::Prepared { dir: dir.clone() };
        self.step(did, |_| AtPreparation { dir })
    }

    /// Notes that it cannot be started, with the daemon's own text of why.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn failed(self, reason: &str) -> Result<FailedPreparation, NotDurable<Self>> {
        self.fail(reason, None)
    }

    /// Notes that it is to go back to the record unstarted.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn interrupted(self) -> Result<InterruptReceipt, NotDurable<Self>> {
        self.interrupt(None)
    }

    /// Forgets an attempt that is not current any more; the record needs no word of it (CJ-14).
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn void(self) -> Result<(), NotDurable<Self>> {
        self.end(RunEvent::Void)
    }

    pub(crate) fn hold(shared: &Arc<Shared>, inner: &mut Inner, key: RunKey) -> Option<Self> {
        let entry = inner.ledger.state().runs().get(&key)?;
        let is_claimed = entry.stage == Stage::Claimed;
        (is_claimed && inner.held_runs.insert(key)).then(|| Self {
            hold: Hold::of(shared, key),
            about: About::of(entry),
            stage: AtClaim(()),
        })
    }
}

impl Prepared {
    /// Returns the name of the execution directory.
    #[must_use]
    pub fn dir(&self) -> &str {
        &self.stage.dir
    }

    /// Begins anew in another directory, after a preparation that died. What it may have spawned ends by itself, since it
    /// was never registered.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn prepare_again(self, dir: &str) -> Result<Self, NotDurable<Self>> {
        let dir = dir.to_owned();
        let did = RunEvent::Prepared { dir: dir.clone() };
        self.step(did, |_| AtPreparation { dir })
    }

    /// Names the shim that holds the execution, before any prompt is sent; from here the execution owns the attempt.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back; the shim must not get the prompt.
    pub fn registered(self, shim: &str) -> Result<Registered, NotDurable<Self>> {
        let shim = shim.to_owned();
        let did = RunEvent::Registered { shim: shim.clone() };
        self.step(did, |stage| AtRegistration { dir: stage.dir, shim })
    }

    /// Notes that it could not be started, with the daemon's own text of why.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn failed(self, reason: &str) -> Result<FailedPreparation, NotDurable<Self>> {
        let dir = self.stage.dir.clone();
        self.fail(reason, Some(dir))
    }

    /// Notes that it is to go back to the record unstarted.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn interrupted(self) -> Result<InterruptReceipt, NotDurable<Self>> {
        let dir = self.stage.dir.clone();
        self.interrupt(Some(dir))
    }

    /// Forgets an attempt that is not current any more; the record needs no word of it.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn void(self) -> Result<(), NotDurable<Self>> {
        self.end(RunEvent::Void)
    }
}

impl Registered {
    /// Returns the name of the execution directory.
    #[must_use]
    pub fn dir(&self) -> &str {
        &self.stage.dir
    }

    /// Returns what was said of the shim.
    #[must_use]
    pub fn shim(&self) -> &str {
        &self.stage.shim
    }

    /// Names the agent's process, after the prompt was sent.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back; the agent works all the same.
    pub fn started(self, agent: &str) -> Result<Started, NotDurable<Self>> {
        let agent = agent.to_owned();
        let did = RunEvent::Started { agent: agent.clone() };
        self.step(did, |stage| AtExecution {
            execution: Execution {
                dir: stage.dir,
                shim: stage.shim,
                agent,
            },
        })
    }

    /// Notes that the agent could not be started; only once the shim is proven closed.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn failed(self, reason: &str) -> Result<FailedPreparation, NotDurable<Self>> {
        let dir = self.stage.dir.clone();
        self.fail(reason, Some(dir))
    }

    /// Notes that it was cut short; only once the shim is proven closed (P8).
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn interrupted(self) -> Result<InterruptReceipt, NotDurable<Self>> {
        let dir = self.stage.dir.clone();
        self.interrupt(Some(dir))
    }

    /// Forgets an attempt that never got its prompt and is not current any more; only once the shim is proven closed.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn void(self) -> Result<(), NotDurable<Self>> {
        self.end(RunEvent::Void)
    }
}

impl Started {
    /// Returns the name of the execution directory.
    #[must_use]
    pub fn dir(&self) -> &str {
        &self.stage.execution.dir
    }

    /// Returns what was said of the shim.
    #[must_use]
    pub fn shim(&self) -> &str {
        &self.stage.execution.shim
    }

    /// Returns what was said of the agent's process.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.stage.execution.agent
    }

    /// Keeps the outcome before the record is told (ST-2): the daemon's own text, redacted, with the intention to retry.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn outcome(self, outcome: &str) -> Result<Settling, NotDurable<Self>> {
        self.outcome_in(outcome, None)
    }

    /// Keeps the outcome, and the native session in which the run can go on, in one step.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn outcome_in_session(self, outcome: &str, session: &str) -> Result<Settling, NotDurable<Self>> {
        self.outcome_in(outcome, Some(session.to_owned()))
    }

    /// Notes that it was cut short; only once its whole tree is proven closed (P10).
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn interrupted(self) -> Result<InterruptReceipt, NotDurable<Self>> {
        let dir = self.stage.execution.dir.clone();
        self.interrupt(Some(dir))
    }

    fn outcome_in(self, outcome: &str, session: Option<String>) -> Result<Settling, NotDurable<Self>> {
        let outcome = outcome.to_owned();
        let did = RunEvent::Outcome {
            outcome: outcome.clone(),
            session,
        };
        self.step(did, |stage| AtOutcome {
            execution: stage.execution,
            outcome,
        })
    }
}

impl Settling {
    /// Returns the name of the execution directory.
    #[must_use]
    pub fn dir(&self) -> &str {
        &self.stage.execution.dir
    }

    /// Returns what was said of the shim.
    #[must_use]
    pub fn shim(&self) -> &str {
        &self.stage.execution.shim
    }

    /// Returns the outcome.
    #[must_use]
    pub fn outcome(&self) -> &str {
        &self.stage.outcome
    }

    /// Puts another outcome in the place of this one (ST-4).
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn replace(self, outcome: &str) -> Result<Self, NotDurable<Self>> {
        let outcome = outcome.to_owned();
        let did = RunEvent::Outcome {
            outcome: outcome.clone(),
            session: None,
        };
        self.step(did, |stage| AtOutcome {
            execution: stage.execution,
            outcome,
        })
    }

    /// Notes that the record has the outcome, or has refused it as stale; only after all its writes returned (ST-10).
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back; the outcome will be written again, which changes nothing.
    pub fn acknowledged(self) -> Result<Acknowledged, NotDurable<Self>> {
        self.step(RunEvent::Acknowledged, |stage| AtAcknowledgement {
            execution: stage.execution,
        })
    }
}

impl Acknowledged {
    /// Returns the name of the execution directory.
    #[must_use]
    pub fn dir(&self) -> &str {
        &self.stage.execution.dir
    }

    /// Returns what was said of the shim.
    #[must_use]
    pub fn shim(&self) -> &str {
        &self.stage.execution.shim
    }

    /// Forgets the attempt; only once its execution is proven closed and its tree accounted for.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn closed(self) -> Result<(), NotDurable<Self>> {
        self.end(RunEvent::Closed)
    }
}

impl FailedPreparation {
    /// Returns the name of the execution directory, if there is one.
    #[must_use]
    pub fn dir(&self) -> Option<&str> {
        self.stage.dir.as_deref()
    }

    /// Returns the daemon's own text of why.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.stage.reason
    }

    /// Forgets the attempt; only after the record has taken its end, or has refused it as stale.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn acknowledged(self) -> Result<(), NotDurable<Self>> {
        self.end(RunEvent::Acknowledged)
    }
}

impl InterruptReceipt {
    /// Returns the name of the execution directory, if there is one.
    #[must_use]
    pub fn dir(&self) -> Option<&str> {
        self.stage.dir.as_deref()
    }

    /// Returns the id under which the interruption is to be reported, each time the same (P20).
    #[must_use]
    pub const fn report(&self) -> OperationId {
        self.stage.operation
    }

    /// Returns what is to be reported.
    #[must_use]
    pub const fn interruption(&self) -> Interruption {
        Interruption {
            attempt: self.attempt(),
            at: self.stage.at,
        }
    }

    /// Forgets the attempt; only after the record has taken the report, with whatever outcome it knows.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn acknowledged(self) -> Result<(), NotDurable<Self>> {
        self.end(RunEvent::Acknowledged)
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
        self.shared.lock().held_runs.remove(&self.key);
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
