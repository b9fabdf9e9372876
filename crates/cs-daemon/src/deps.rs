//! Everything that the daemon is given: the record, the machine, the means and the settings.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cs_fence::AttemptRecord;
use cs_harness::Permissions;
use cs_journal::ClaimRecord;
use cs_model::{Clock, CodebaseId, IdSource, LandMethod, LandingTarget, MachineId, Person, Publish};
use cs_record::{AgentActs, CardReads, DaemonReads, Housekeeping, LandingRecord, Machines};
use cs_secrets::SecretStore;
use cs_settle::SettlementRecord;

use crate::agents::Agents;
use crate::attempt::Sandbox;
use crate::borders::Borders;
use crate::executions::Executions;
use crate::host::Host;
use crate::leftovers::Leftovers;
use crate::trees::{Landings, TreeError, Trees};

/// The ports of the record that a daemon uses. One store usually stands behind all of them.
#[derive(Debug, Clone)]
pub struct RecordPorts {
    /// Takes work.
    pub claims: Arc<dyn ClaimRecord>,
    /// Keeps the facts of attempts.
    pub attempts: Arc<dyn AttemptRecord>,
    /// Takes outcomes.
    pub settlements: Arc<dyn SettlementRecord>,
    /// Takes the results of landings.
    pub landings: Arc<dyn LandingRecord>,
    /// Says what work is about.
    pub reads: Arc<dyn DaemonReads>,
    /// Shows cards.
    pub cards: Arc<dyn CardReads>,
    /// Keeps presence, pauses and limits.
    pub machines: Arc<dyn Machines>,
    /// Takes what running agents do through their tools.
    pub agents: Arc<dyn AgentActs>,
    /// Forgets what nobody can need any more.
    pub housekeeping: Arc<dyn Housekeeping>,
}

/// Who this machine is.
#[derive(Debug, Clone)]
pub struct MachineIdentity {
    /// Its id, made once in its state directory.
    pub id: MachineId,
    /// What people call it.
    pub name: String,
    /// Whose it is.
    pub person: Person,
    /// Whether it takes the cards of everybody; otherwise those of its person.
    pub serves_everyone: bool,
}

/// Where operator output goes. Lines hold no secret and no text of an agent.
pub trait Reporter: fmt::Debug + Send + Sync {
    /// Prints a fact of progress.
    fn out(&self, line: &str);
    /// Prints something that the operator should notice.
    fn said(&self, line: &str);
}

/// What can be chosen.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many runs at most are live at once on this machine.
    pub slots: u32,
    /// How long an agent may stay after it has answered, or has said in its output that it asks or offers, before its tree is closed and
    /// its word kept.
    pub grace_when_done: Duration,
    /// The same after it has asked or offered through its tools: its model still has to end its turn.
    pub grace_after_word: Duration,
    /// How long each step of a stop may take before the next one.
    pub stop_grace: Duration,
    /// How often the record is looked at when nothing wakes the daemon.
    pub fallback_interval: Duration,
    /// Below this many free bytes in the state directory no new work starts.
    pub min_free_bytes: u64,
    /// The program that leads agents which speak the Agent Client Protocol: `cs-panel`, by its path; nothing: as it is found in PATH.
    pub bridge: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 2,
            grace_when_done: Duration::from_secs(5),
            grace_after_word: Duration::from_secs(60),
            stop_grace: Duration::from_secs(5),
            fallback_interval: Duration::from_secs(2),
            min_free_bytes: 64 * 1024 * 1024,
            bridge: None,
        }
    }
}

/// Everything that a daemon is given.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The record.
    pub record: RecordPorts,
    /// This machine.
    pub machine: MachineIdentity,
    /// The agents that this machine can drive.
    pub agents: Arc<dyn Agents>,
    /// Where this machine's checkouts of codebases are.
    pub checkouts: Arc<dyn Checkouts>,
    /// The trees of cards.
    pub trees: Arc<dyn Trees>,
    /// The landings of their work.
    pub landings: Arc<dyn Landings>,
    /// What is kept of cards that are over.
    pub leftovers: Arc<dyn Leftovers>,
    /// Where agents are held and run.
    pub executions: Arc<dyn Executions>,
    /// The machine itself.
    pub host: Arc<dyn Host>,
    /// The secrets of codebases, which agents may be given.
    pub secrets: Arc<dyn SecretStore>,
    /// The environment that agents get: an allow-list, nothing is inherited beside it.
    pub agent_env: Vec<(OsString, OsString)>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Ids and secrets.
    pub ids: Arc<dyn IdSource>,
    /// Operator output.
    pub reporter: Arc<dyn Reporter>,
    /// What can be chosen.
    pub settings: Settings,
    /// Where a test may end the process; [`Borders::none`] otherwise.
    pub borders: Borders,
}

/// What the trees of a codebase get on a machine before an agent works in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Files that git ignores and that come along from the checkout, as patterns of `.gitignore`.
    pub bring: Vec<String>,
    /// A command for `/bin/sh` that runs before the agent, once for each tree.
    pub setup: Option<String>,
}

/// What agents that work on a codebase may do on a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRules {
    /// What is put around them.
    pub sandbox: Sandbox,
    /// What they may do without being asked; nothing: as their own configuration says.
    pub permissions: Option<Permissions>,
}

/// What it means to land on a codebase, as this machine is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingPolicy {
    /// A command for `/bin/sh` that has to succeed on the merged result before the base moves.
    pub verify: Option<String>,
    /// How long setup and verify may take together.
    pub verify_limit: Duration,
    /// How commits come onto the base, where the person who accepts says nothing else.
    pub method: LandMethod,
    /// What moves; nothing: the remote's base too where the person publishes the base already, else only the local one.
    pub target: Option<LandingTarget>,
    /// When the branch of a card goes to the remote beside its landing.
    pub publish: Publish,
    /// Branches that are never moved here.
    pub protected: Vec<String>,
}

/// How long setup and verify may take together where nothing else is said.
pub const VERIFY_LIMIT: Duration = Duration::from_secs(30 * 60);

impl Default for LandingPolicy {
    fn default() -> Self {
        Self {
            verify: None,
            verify_limit: VERIFY_LIMIT,
            method: LandMethod::default(),
            target: None,
            publish: Publish::default(),
            protected: Vec::new(),
        }
    }
}

/// Where this machine's checkouts of codebases are. It is asked anew each time, since commands add to it.
pub trait Checkouts: fmt::Debug + Send + Sync {
    /// Returns the checkout of a codebase, if this machine has one.
    fn checkout(&self, codebase: CodebaseId) -> Option<PathBuf>;
    /// Says what the trees of a codebase get on this machine.
    fn preparation(&self, codebase: CodebaseId) -> Preparation;
    /// Says what agents that work on a codebase may do.
    ///
    /// # Errors
    /// [`TreeError::Checkouts`]: what the person set is not known now, and no agent starts without it.
    /// [`TreeError::NoCheckout`]: this machine does not have the codebase.
    fn rules(&self, codebase: CodebaseId) -> Result<AgentRules, TreeError>;
    /// Says what it means to land on a codebase.
    ///
    /// # Errors
    /// [`TreeError::Checkouts`]: what the person set is not known now, and nothing is done without it.
    fn landing(&self, codebase: CodebaseId) -> Result<LandingPolicy, TreeError>;
    /// Lists the codebases that this machine has.
    fn codebases(&self) -> Vec<CodebaseId>;
}
