//! The steps of an attempt once its agent works, and the notes that the record is to get.

use cs_fence::Interruption;
use cs_model::OperationId;

use super::{
    Acknowledged, AtAcknowledgement, AtOutcome, FailedPreparation, InterruptReceipt, Settling, Started,
};
use crate::error::NotDurable;
use crate::event::RunEvent;

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
