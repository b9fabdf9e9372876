//! What one claim took, until it is handed on.

use cs_model::{LandingId, OperationId, RunId};

use crate::owner::{Claimed, LandingClaimed};
use crate::{Action, DispatchRefusal};

/// The confirmed result of one claim.
///
/// Adoption is synchronous: take the attempts out *before* building a future (CJ-23). What nobody adopts is given back
/// when the window is dropped or finished, and is in the next [`recover`](crate::Journal::recover) (CJ-21).
#[derive(Debug)]
#[must_use = "attempts that nobody adopts are started only in the next pass"]
pub struct Window {
    operation: OperationId,
    action: Action,
    runs: Vec<Claimed>,
    landings: Vec<LandingClaimed>,
    refused: Option<DispatchRefusal>,
}

impl Window {
    pub(crate) fn new(
        operation: OperationId,
        action: Action,
        runs: Vec<Claimed>,
        landings: Vec<LandingClaimed>,
        refused: Option<DispatchRefusal>,
    ) -> Self {
        Self {
            operation,
            action,
            runs,
            landings,
            refused,
        }
    }

    /// Says why a child was not sent, when it was not.
    #[must_use]
    pub const fn refused(&self) -> Option<&DispatchRefusal> {
        self.refused.as_ref()
    }

    /// Returns the operation.
    #[must_use]
    pub const fn operation(&self) -> OperationId {
        self.operation
    }

    /// Returns which kind of work was taken.
    #[must_use]
    pub const fn action(&self) -> Action {
        self.action
    }

    /// Returns the runs that nobody has adopted yet.
    pub fn runs(&self) -> &[Claimed] {
        &self.runs
    }

    /// Returns the landings that nobody has adopted yet.
    pub fn landings(&self) -> &[LandingClaimed] {
        &self.landings
    }

    /// Says whether nothing is left to adopt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.landings.is_empty()
    }

    /// Hands over the attempt of a run, once.
    #[must_use]
    pub fn adopt(&mut self, run: RunId) -> Option<Claimed> {
        let place = self.runs.iter().position(|claimed| claimed.row().run == run)?;
        Some(self.runs.remove(place))
    }

    /// Hands over the attempts of all runs that are left.
    #[must_use]
    pub fn adopt_all(&mut self) -> Vec<Claimed> {
        std::mem::take(&mut self.runs)
    }

    /// Hands over a landing, once.
    #[must_use]
    pub fn adopt_landing(&mut self, landing: LandingId) -> Option<LandingClaimed> {
        let place = self
            .landings
            .iter()
            .position(|claimed| claimed.row().landing == landing)?;
        Some(self.landings.remove(place))
    }

    /// Hands over all landings that are left.
    #[must_use]
    pub fn adopt_all_landings(&mut self) -> Vec<LandingClaimed> {
        std::mem::take(&mut self.landings)
    }

    /// Ends the window; dropping it does the same. It forgets nothing (CJ-20, CJ-21).
    pub fn finish(self) {}
}
