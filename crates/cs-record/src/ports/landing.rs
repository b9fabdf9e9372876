//! The result of a landing.

use std::fmt;

use async_trait::async_trait;
use cs_fence::LandingAttempt;
use cs_model::{Epoch, LandingId, LandingState};

use crate::{Evidence, RecordError};

/// What came out of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingResult {
    /// The base holds the work.
    Landed {
        /// The commit that the base points at now, hexadecimal.
        commit: String,
        /// One or two sentences for the card's turn; no local path.
        report: String,
        /// What the verify command said of that commit, if there is one.
        evidence: Option<Evidence>,
    },
    /// The work and the base conflict: goes back to the agent.
    Conflict {
        /// What the agent needs to know: the files and what to do; no local path.
        report: String,
    },
    /// The verify command failed on the merged result: goes back to the agent.
    VerifyFailed {
        /// What the agent needs to know: how it ended and its last output; no local path.
        report: String,
        /// What the command said.
        evidence: Evidence,
    },
    /// The card's branch is at the remote, and no base has moved: the card stays open until its work is in the base.
    Published {
        /// Where it is and what the person does next; no local path.
        report: String,
    },
    /// It cannot be done as things are: the offer stays open.
    Refused {
        /// What is in the way and what the person can do; no local path.
        report: String,
    },
}

/// The answer to a fenced write of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a stale attempt changed nothing; say so"]
pub enum FencedLanding {
    /// The write was made.
    Applied,
    /// This life of the landing is not the current one, or the landing is over; nothing was written.
    Stale {
        /// The landing.
        landing: LandingId,
        /// Its present epoch and state; nothing when the record does not hold it.
        row: Option<(Epoch, LandingState)>,
    },
}

/// Takes the results of landings.
#[async_trait]
pub trait LandingRecord: fmt::Debug + Send + Sync {
    /// Ends a running landing under its fence, in one transaction.
    ///
    /// `Landed`: the card is landed, its offer answered, the run that offered finished, and a turn by the system says so; no
    /// agent is started. `Conflict` and `VerifyFailed`: the offer is answered with the report, so that its run is ready again; without
    /// an offer the report is a pending turn by the system. The third in a row without a word of a person goes to the person instead,
    /// as `Refused` does. `Refused` and `Published`: a turn by the system says why, the offer is open again.
    /// A repeated call gives `Stale` and writes nothing.
    ///
    /// # Errors
    /// [`RecordError`] when the record cannot answer.
    async fn settle_landing(
        &self,
        attempt: &LandingAttempt,
        result: &LandingResult,
    ) -> Result<FencedLanding, RecordError>;

    /// Gives a landing back untouched, so that the next pass may take it again under its next epoch.
    ///
    /// # Errors
    /// [`RecordError`] when the record cannot answer.
    async fn release_landing(&self, attempt: &LandingAttempt) -> Result<FencedLanding, RecordError>;
}
