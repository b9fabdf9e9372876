use cs_harness::Permissions;
use serde::Deserialize;

use crate::tools::Tools;

/// What the bridge is told to do, in one line of JSON. Fields that it does not need may stand beside these.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Start {
    /// The prompt, whole.
    pub(crate) prompt: String,
    /// What was said before, for an agent that cannot go on with its conversation.
    #[serde(default)]
    pub(crate) history: Option<String>,
    /// The agent's own conversation to go on with.
    #[serde(default)]
    pub(crate) session: Option<String>,
    /// Where the agent works, absolute.
    pub(crate) cwd: String,
    /// What it may do.
    pub(crate) permissions: Permissions,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) effort: Option<String>,
    /// The tools that it is given besides its own.
    #[serde(default)]
    pub(crate) tools: Option<Tools>,
}
