//! The agents of a machine. A person may change them while a daemon runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use cs_harness::AgentConfig;
use cs_supervise::{Containment, Limits};

use crate::bounds::Bounds;
use crate::choices::AgentChoices;

/// An agent, and everything that a person has chosen for it.
#[derive(Debug, Clone)]
pub struct AgentSetup {
    /// Its command, and how it is driven.
    pub config: AgentConfig,
    /// What one attempt of it may use.
    pub limits: Limits,
    /// What one attempt of it may use beyond that.
    pub bounds: Bounds,
    /// How its processes are held together.
    pub containment: Containment,
    /// How it is to work.
    pub choices: AgentChoices,
}

impl AgentSetup {
    /// The environment of its programs: that of all agents of the machine, then what is set for this one, which stands above it.
    #[must_use]
    pub fn environment(&self, of_all: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let own = self.choices.env.iter();
        let own = own.map(|(name, value)| (name.into(), value.into()));
        of_all.iter().cloned().chain(own).collect()
    }
}

impl From<AgentConfig> for AgentSetup {
    /// Nothing was chosen for it.
    fn from(config: AgentConfig) -> Self {
        Self {
            config,
            limits: Limits::default(),
            bounds: Bounds::default(),
            containment: Containment::default(),
            choices: AgentChoices::default(),
        }
    }
}

/// The agents of a machine, by name.
pub type AgentTable = BTreeMap<String, AgentSetup>;

/// The agents that this machine can drive. They are asked for anew each time, since a person may change them.
pub trait Agents: fmt::Debug + Send + Sync {
    /// Returns them as they are set up now; as they were last where that cannot be read.
    fn now(&self) -> Arc<AgentTable>;
}

/// Agents that nobody changes.
#[derive(Debug, Clone, Default)]
pub struct FixedAgents(Arc<AgentTable>);

impl FixedAgents {
    /// Takes them as they are.
    #[must_use]
    pub fn new(agents: AgentTable) -> Self {
        Self(Arc::new(agents))
    }
}

impl FromIterator<AgentConfig> for FixedAgents {
    fn from_iter<T: IntoIterator<Item = AgentConfig>>(agents: T) -> Self {
        let agents = agents.into_iter();
        Self::new(
            agents
                .map(|agent| (agent.name().to_owned(), agent.into()))
                .collect(),
        )
    }
}

impl Agents for FixedAgents {
    fn now(&self) -> Arc<AgentTable> {
        Arc::clone(&self.0)
    }
}
