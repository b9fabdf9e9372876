//! What `--json` prints of landings.

use cs_daemon::LandingPolicy;
use cs_model::{CardId, LandMethod, LandingId, LandingState, LandingTarget, Publish, Time};
use cs_record::{Evidence, Landing, VerifyExit};
use serde::Serialize;

/// A landing.
#[derive(Debug, Serialize)]
pub(crate) struct LandingWire {
    pub(crate) id: LandingId,
    pub(crate) card: CardId,
    pub(crate) state: LandingState,
    /// The branch that it lands on.
    pub(crate) base: Option<String>,
    /// How, where the person said so.
    pub(crate) method: Option<LandMethod>,
    pub(crate) accepted_by: String,
    pub(crate) accepted_at: Time,
    pub(crate) commit: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) verify: Option<VerifyWire>,
    pub(crate) ended_at: Option<Time>,
}

/// What a verify command said.
#[derive(Debug, Serialize)]
pub(crate) struct VerifyWire {
    pub(crate) command: String,
    pub(crate) commit: String,
    pub(crate) passed: bool,
    pub(crate) exit: VerifyExit,
    pub(crate) duration_ms: u64,
}

impl From<&Evidence> for VerifyWire {
    fn from(evidence: &Evidence) -> Self {
        Self {
            command: evidence.command.clone(),
            commit: evidence.commit.clone(),
            passed: evidence.exit.is_passed(),
            exit: evidence.exit,
            duration_ms: evidence.duration_ms,
        }
    }
}

impl From<&Landing> for LandingWire {
    fn from(landing: &Landing) -> Self {
        Self {
            id: landing.id,
            card: landing.card,
            state: landing.state,
            base: landing.base.clone(),
            method: landing.method,
            accepted_by: landing.accepted_by.to_string(),
            accepted_at: landing.accepted_at,
            commit: landing.commit.clone(),
            result: landing.result.clone(),
            verify: landing.evidence.as_ref().map(VerifyWire::from),
            ended_at: landing.ended_at,
        }
    }
}

/// What a landing on a codebase means on a machine.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyWire {
    pub(crate) verify: Option<String>,
    /// How many seconds setup and verify may take together.
    pub(crate) verify_limit_s: u64,
    pub(crate) method: LandMethod,
    /// Null: the remote's base too where the base has one.
    pub(crate) target: Option<LandingTarget>,
    pub(crate) publish: Publish,
    pub(crate) protected: Vec<String>,
}

impl From<LandingPolicy> for PolicyWire {
    fn from(policy: LandingPolicy) -> Self {
        Self {
            verify: policy.verify,
            verify_limit_s: policy.verify_limit.as_secs(),
            method: policy.method,
            target: policy.target,
            publish: policy.publish,
            protected: policy.protected,
        }
    }
}

/// What a landing would come to.
#[derive(Debug, Serialize)]
pub(crate) struct PreviewWire {
    pub(crate) card: CardId,
    pub(crate) base: String,
    pub(crate) method: LandMethod,
    /// `ready`, `already_landed`, `nothing_to_land`, `conflict`, `refused` or `published`, for a pull request.
    pub(crate) outcome: &'static str,
    /// How many commits it would bring; 0 unless it is ready.
    pub(crate) commits: usize,
    /// How many files it would change; 0 unless it is ready.
    pub(crate) files: usize,
    /// The commit of the base that holds the work already.
    pub(crate) landed_as: Option<String>,
    /// The files in conflict.
    pub(crate) conflicts: Vec<String>,
    /// Why it is refused, and the cure.
    pub(crate) reason: Option<String>,
    /// How many commits of the person's own base would go to a remote with it.
    pub(crate) unpushed: usize,
    pub(crate) policy: PolicyWire,
}
