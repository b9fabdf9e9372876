//! Typed owners of attempts: in this process exactly one value stands for each attempt, and its type says where the attempt
//! is. A step takes the value and gives the next; it is on the disk before the method returns.

use std::sync::Arc;

use crate::journal::{Inner, Shared};

mod landing;
mod run;

pub use landing::{
    AtLandingClaim, AtLandingResult, AtLandingWork, HeldLanding, LandingClaimed, LandingDone, LandingWorking,
};
pub use run::{
    Acknowledged, AtAcknowledgement, AtClaim, AtExecution, AtFailure, AtOutcome, AtPreparation, AtReceipt,
    AtRegistration, Claimed, FailedPreparation, Held, InterruptReceipt, Prepared, Registered, Settling,
    Started,
};

/// What nobody in this process held: left by a former process, or dropped in this one.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Attempts that were taken and not prepared. To be launched after the check that they are still current (CJ-13, CJ-14).
    pub claimed: Vec<Claimed>,
    /// Attempts whose preparation died. Nothing of them got a prompt: prepare again (P6, P7).
    pub prepared: Vec<Prepared>,
    /// Attempts whose shim is registered. The agent may have its prompt or not: the shim knows (P8, P9).
    pub registered: Vec<Registered>,
    /// Attempts whose agent had started (P10, P11).
    pub started: Vec<Started>,
    /// Outcomes that the record may not have yet (P12, P13).
    pub settling: Vec<Settling>,
    /// Attempts that the record is done with, and whose execution is to be closed and accounted for.
    pub acknowledged: Vec<Acknowledged>,
    /// Failed starts that the record may not know yet (P17).
    pub failed: Vec<FailedPreparation>,
    /// Interruptions that the record may not know yet (P20).
    pub receipts: Vec<InterruptReceipt>,
    /// Landings that were taken and not begun.
    pub landings_claimed: Vec<LandingClaimed>,
    /// Landings that were begun, with the steps that were made.
    pub landings_working: Vec<LandingWorking>,
    /// Results of landings that the record may not have yet.
    pub landings_done: Vec<LandingDone>,
}

impl Recovered {
    /// Says whether nothing was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        let tell = self.settling.is_empty()
            && self.acknowledged.is_empty()
            && self.failed.is_empty()
            && self.receipts.is_empty();
        let carry = self.claimed.is_empty()
            && self.prepared.is_empty()
            && self.registered.is_empty()
            && self.started.is_empty();
        let land = self.landings_claimed.is_empty()
            && self.landings_working.is_empty()
            && self.landings_done.is_empty();
        tell && carry && land
    }

    /// Takes hold of everything that is free.
    pub(crate) fn take(shared: &Arc<Shared>) -> Self {
        let mut found = Self::default();
        let mut inner = shared.lock();
        let Inner { ledger, holds } = &mut *inner;
        let state = ledger.state();
        for (key, entry) in state.runs() {
            if holds.hold_run(state, *key) {
                run::sort(&mut found, run::Hold::of(shared, *key), entry);
            }
        }
        for (key, entry) in state.landings() {
            if holds.hold_landing(state, *key) {
                landing::sort(&mut found, landing::Hold::of(shared, *key), entry);
            }
        }
        found
    }
}
