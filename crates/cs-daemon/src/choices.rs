//! What a person has chosen for an agent, beside its command.

use std::collections::BTreeMap;

use cs_harness::{HarnessKind, OwnSettings, Permissions};

/// What a person has chosen for an agent. What is not said is left to the agent's own settings, but for the permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentChoices {
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// How much the model is to think, as the agent names it.
    pub effort: Option<String>,
    /// What it may do without being asked. Naming a command is the consent to all that the command does; any other agent is not
    /// started before a person has said it.
    pub permissions: Option<Permissions>,
    /// Whether the person's own settings of the agent hold.
    pub settings: OwnSettings,
    /// How it reaches the panel's tools.
    pub tools: ToolsBy,
    /// Variables that it gets beside its environment. No secrets: the environment of a process can be read.
    pub env: BTreeMap<String, String>,
}

/// How an agent reaches the panel's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolsBy {
    /// Through a server that it starts in its own tree. It outlives the daemon.
    #[default]
    Stdio,
    /// Over HTTP on the loopback, for an agent that cannot start one.
    Http,
    /// Not at all.
    None,
}

impl AgentChoices {
    /// Says what an agent may do; nothing where a person has to say it first.
    #[must_use]
    pub fn permissions_of(&self, kind: HarnessKind) -> Option<Permissions> {
        let by_command = kind.is_command().then_some(Permissions::Full);
        by_command.or(self.permissions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_do_everything_and_any_other_agent_what_a_person_has_said() {
        let silent = AgentChoices::default();
        assert_eq!(silent.permissions_of(HarnessKind::Plain), Some(Permissions::Full));
        assert_eq!(
            silent.permissions_of(HarnessKind::JsonLines),
            Some(Permissions::Full)
        );
        assert_eq!(silent.permissions_of(HarnessKind::Claude), None);
        let said = AgentChoices {
            permissions: Some(Permissions::Edit),
            ..AgentChoices::default()
        };
        assert_eq!(said.permissions_of(HarnessKind::Codex), Some(Permissions::Edit));
    }
}
