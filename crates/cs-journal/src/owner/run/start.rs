//! The steps of an attempt until its agent works.

use std::sync::Arc;

use super::{
    About, AtClaim, AtExecution, AtRegistration, Claimed, FailedPreparation, Hold, InterruptReceipt,
    Prepared, Registered, Started,
};
use crate::error::NotDurable;
use crate::event::RunEvent;
use crate::journal::{Inner, Shared};
use crate::state::{Execution, RunKey};

impl Claimed {
    /// Names the execution directory; from here the preparation owns the attempt.
    ///
    /// # Errors
    /// [`NotDurable`], with the value given back: also while another attempt of the same run may still run on this machine,
    /// registered or started. Then drop the value; it comes back when that one is over.
    pub fn prepare(self, dir: &str) -> Result<Prepared, NotDurable<Self>> {
        self.prepare_in(dir)
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
        if !inner.hold_claimed(key) {
            return None;
        }
        let hold = Hold::of(shared, key);
        let entry = inner.ledger.state().runs().get(&key)?;
        Some(Self {
            hold,
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
    /// [`NotDurable`], with the value given back, as from [`prepare`](Claimed::prepare).
    pub fn prepare_again(self, dir: &str) -> Result<Self, NotDurable<Self>> {
        self.prepare_in(dir)
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
