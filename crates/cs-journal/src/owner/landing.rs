//! The owners of landings.

use std::fmt;
use std::sync::Arc;

use cs_fence::LandingAttempt;
use cs_model::OperationId;

use super::Recovered;
use crate::ClaimedLanding;
use crate::error::{LedgerError, NotDurable};
use crate::event::{Event, LandingEvent};
use crate::journal::{Inner, Shared};
use crate::state::{LandingEntry, LandingKey, LandingStage};

/// A landing at a stage; what [`Held`](super::Held) is for a run.
#[derive(Debug)]
#[must_use = "dropping it gives the landing back; it goes on only in the next pass"]
pub struct HeldLanding<S> {
    hold: Hold,
    row: ClaimedLanding,
    attempt: LandingAttempt,
    operation: Option<OperationId>,
    stage: S,
}

/// A landing that a claim took; nothing was done.
pub type LandingClaimed = HeldLanding<AtLandingClaim>;
/// A landing that was begun.
pub type LandingWorking = HeldLanding<AtLandingWork>;
/// A landing with a result that the record does not have yet.
pub type LandingDone = HeldLanding<AtLandingResult>;

/// The stage of [`LandingClaimed`].
#[derive(Debug)]
pub struct AtLandingClaim(());

/// The stage of [`LandingWorking`].
#[derive(Debug)]
pub struct AtLandingWork {
    steps: Vec<String>,
}

/// The stage of [`LandingDone`].
#[derive(Debug)]
pub struct AtLandingResult {
    steps: Vec<String>,
    result: String,
}

impl<S> HeldLanding<S> {
    /// Returns this life of the landing.
    #[must_use]
    pub const fn attempt(&self) -> LandingAttempt {
        self.attempt
    }

    /// Returns the row that the claim gave.
    #[must_use]
    pub const fn row(&self) -> &ClaimedLanding {
        &self.row
    }

    /// Returns the operation that took it.
    #[must_use]
    pub const fn operation(&self) -> Option<OperationId> {
        self.operation
    }
}

impl<S: fmt::Debug> HeldLanding<S> {
    fn step_to<T>(
        self,
        did: LandingEvent,
        next: impl FnOnce(S) -> T,
    ) -> Result<HeldLanding<T>, NotDurable<Self>> {
        match self.hold.commit(did) {
            Ok(()) => Ok(HeldLanding {
                hold: self.hold,
                row: self.row,
                attempt: self.attempt,
                operation: self.operation,
                stage: next(self.stage),
            }),
            Err(error) => Err(NotDurable {
                state: Box::new(self),
                error,
            }),
        }
    }

    fn end_with(
        self,
        result: &str,
        steps: impl FnOnce(S) -> Vec<String>,
    ) -> Result<LandingDone, NotDurable<Self>> {
        let result = result.to_owned();
        let did = LandingEvent::Result {
            result: result.clone(),
        };
        self.step_to(did, |stage| AtLandingResult {
            steps: steps(stage),
            result,
        })
    }
}

impl LandingClaimed {
    /// Notes the first step, before or after it is made as the daemon's own order wants it.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn step(self, step: &str) -> Result<LandingWorking, NotDurable<Self>> {
        let did = LandingEvent::Step {
            step: step.to_owned(),
        };
        let steps = vec![step.to_owned()];
        self.step_to(did, |_| AtLandingWork { steps })
    }

    /// Keeps a result that needed no step, such as a refusal.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn result(self, result: &str) -> Result<LandingDone, NotDurable<Self>> {
        self.end_with(result, |_| Vec::new())
    }

    /// Forgets a landing that is not this machine's any more and of which nothing was done.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn void(self) -> Result<(), NotDurable<Self>> {
        self.step_to(LandingEvent::Void, |_| ()).map(drop)
    }

    pub(crate) fn hold(shared: &Arc<Shared>, inner: &mut Inner, key: LandingKey) -> Option<Self> {
        let Inner { ledger, holds } = inner;
        let state = ledger.state();
        let entry = state.landings().get(&key)?;
        let is_claimed = entry.stage == LandingStage::Claimed;
        (is_claimed && holds.hold_landing(state, key))
            .then(|| at(Hold::of(shared, key), entry, AtLandingClaim(())))
    }
}

impl LandingWorking {
    /// Returns the steps so far, in their order.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.stage.steps
    }

    /// Notes another step.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn step(self, step: &str) -> Result<Self, NotDurable<Self>> {
        let did = LandingEvent::Step {
            step: step.to_owned(),
        };
        let step = step.to_owned();
        self.step_to(did, |mut stage| {
            stage.steps.push(step);
            stage
        })
    }

    /// Keeps the result before the record is told.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn result(self, result: &str) -> Result<LandingDone, NotDurable<Self>> {
        self.end_with(result, |stage| stage.steps)
    }
}

impl LandingDone {
    /// Returns the steps that were made, in their order.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.stage.steps
    }

    /// Returns the result.
    #[must_use]
    pub fn result(&self) -> &str {
        &self.stage.result
    }

    /// Forgets the landing; only after the record has taken the result, or has refused it as stale.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back.
    pub fn acknowledged(self) -> Result<(), NotDurable<Self>> {
        self.step_to(LandingEvent::Acknowledged, |_| ()).map(drop)
    }
}

/// The right to act for one landing in this process.
#[derive(Debug)]
pub(super) struct Hold {
    shared: Arc<Shared>,
    key: LandingKey,
}

impl Hold {
    /// Wraps a key that was just put among the held ones.
    pub(super) fn of(shared: &Arc<Shared>, key: LandingKey) -> Self {
        Self {
            shared: Arc::clone(shared),
            key,
        }
    }

    fn commit(&self, did: LandingEvent) -> Result<(), LedgerError> {
        let (landing, epoch) = self.key;
        self.shared.commit(&Event::Landing { landing, epoch, did })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shared.lock().holds.release_landing(self.key);
    }
}

/// Puts a landing where its stage belongs.
pub(super) fn sort(found: &mut Recovered, hold: Hold, entry: &LandingEntry) {
    match entry.stage.clone() {
        LandingStage::Claimed => found.landings_claimed.push(at(hold, entry, AtLandingClaim(()))),
        LandingStage::Working { steps } => {
            found
                .landings_working
                .push(at(hold, entry, AtLandingWork { steps }))
        }
        LandingStage::Done { steps, result } => {
            found
                .landings_done
                .push(at(hold, entry, AtLandingResult { steps, result }));
        }
    }
}

fn at<S>(hold: Hold, entry: &LandingEntry, stage: S) -> HeldLanding<S> {
    HeldLanding {
        hold,
        row: entry.row.clone(),
        attempt: entry.attempt,
        operation: entry.operation,
        stage,
    }
}
