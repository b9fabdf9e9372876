//! The identity of an attempt beside its execution: with it a machine that lost its ledger can still settle what runs, and
//! a machine whose configuration changed can still read what its agents say.

use std::io;
use std::sync::Arc;

use cs_fence::Attempt;
use cs_harness::{AgentConfig, Harness, HarnessKind, UsageTotals, adapter};
use cs_journal::ClaimedRun;
use cs_model::RuleId;
use cs_record::StandingRule;
use cs_supervise::ExecutionDir;
use serde::{Deserialize, Serialize};

use super::{Allowance, SessionPlace, beside};

const NAME: &str = "attempt.json";

/// What the daemon notes of an attempt beside its execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFile {
    /// The attempt, with its token.
    pub attempt: Attempt,
    /// What was claimed.
    pub row: ClaimedRun,
    /// How the agent that is started here speaks: what it says is read that way, whatever the configuration says later.
    pub harness: String,
    /// What it may use.
    #[serde(default)]
    pub allowance: Allowance,
    /// The conversation that its agent was asked to go on with.
    #[serde(default)]
    pub session: Option<String>,
    /// What that conversation had used before, as far as it was counted.
    #[serde(default)]
    pub before: UsageTotals,
    /// How often the agents of its run had lost their conversation before.
    #[serde(default)]
    pub losses: u32,
    /// The model that was chosen for its agent.
    #[serde(default)]
    pub model: Option<String>,
    /// Where its agent keeps its conversations, if each has a file of its own.
    #[serde(default)]
    pub sessions: Option<SessionPlace>,
    /// The standing rules that its agent was told.
    #[serde(default)]
    pub rules: Vec<RuleTold>,
}

/// A standing rule as an agent was told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleTold {
    /// The rule.
    pub rule: RuleId,
    /// The version of its words.
    pub version: u32,
}

impl From<&StandingRule> for RuleTold {
    fn from(rule: &StandingRule) -> Self {
        Self {
            rule: rule.id,
            version: rule.version,
        }
    }
}

impl AttemptFile {
    /// Writes it, durably, before anything of the execution is begun.
    pub(super) fn write(&self, dir: &ExecutionDir) -> io::Result<()> {
        beside::write(dir, NAME, self)
    }

    /// The same, with where its agent's part of the conversation begins: where it ends now.
    pub(super) fn begun_now(&self) -> Self {
        let kind = self.harness.parse().ok();
        let place = self.sessions.as_ref().zip(kind);
        Self {
            sessions: place.map(|(place, kind)| place.now(kind, self.session.as_deref())),
            ..self.clone()
        }
    }

    /// Returns the harness that reads what the agent of this execution says; nothing for one that this version does not know.
    #[must_use]
    pub fn harness(&self) -> Option<Arc<dyn Harness>> {
        harness_in(&self.row.agent, self.harness.parse().ok()?)
    }

    /// Reads it; nothing when it is not there or torn, since then nothing of the execution was begun.
    #[must_use]
    pub fn read(dir: &ExecutionDir) -> Option<Self> {
        beside::read(dir, NAME)
    }
}

/// The harness of an agent of which nothing is left to read.
pub(crate) fn plain_harness(agent: &str) -> Option<Arc<dyn Harness>> {
    harness_in(agent, HarnessKind::Plain)
}

fn harness_in(agent: &str, kind: HarnessKind) -> Option<Arc<dyn Harness>> {
    let config = AgentConfig::new(agent, vec![agent.to_owned()], kind).ok()?;
    Some(adapter(&config))
}
