use std::fmt;

use serde_json::{Value, json};

use crate::{HarnessKind, LaunchSpec, PrivateFile, RunFacts};

/// What the server of our tools is called in the configuration of every agent.
pub const PANEL_SERVER: &str = "panel";

/// How long a call of a tool may take, in seconds. Two agents would give one up after a minute; the server answers long before this.
pub(crate) const CALL_SECONDS: u64 = 600;

/// The file in which an agent is told of the server, where that is not told otherwise.
const TOOLS_FILE: &str = "panel-tools.json";

/// How an agent reaches the tools that it is given here. In whatever it is configured with, the server is called `panel`.
#[derive(Clone, PartialEq, Eq)]
pub enum PanelTools {
    /// A server that the agent starts itself and talks to over standard input and output.
    Command {
        /// The server's program and its arguments; never empty. They can be read by everyone, so no secret stands in them.
        argv: Vec<String>,
        /// Names of variables of the agent's environment that the server has to get too: some agents start it with hardly any.
        keep: Vec<String>,
    },
    /// A server that is there already, for agents that cannot start one.
    Http {
        /// Where it is.
        url: String,
        /// What the agent has to show there. A secret: it stands in private files only.
        bearer: String,
    },
}

impl fmt::Debug for PanelTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { argv, keep } => f
                .debug_struct("Command")
                .field("argv", argv)
                .field("keep", keep)
                .finish(),
            Self::Http { url, bearer: _ } => f.debug_struct("Http").field("url", url).finish_non_exhaustive(),
        }
    }
}

impl PanelTools {
    /// What an agent shows to a server that is there already.
    pub(crate) fn authorization(bearer: &str) -> String {
        format!("Bearer {bearer}")
    }
}

impl HarnessKind {
    /// Whether an agent of this kind can be led to a server of tools that is there already, with what opens it in a private file only.
    /// All of them can start one.
    pub const fn reaches_over_http(self) -> bool {
        match self {
            // A command starts what it is told to. Codex reads such a secret from its arguments, its environment or its home only.
            Self::Plain | Self::JsonLines | Self::Codex => false,
            // Of the last one it is seen when it has been greeted.
            Self::Claude | Self::Opencode | Self::Pi | Self::Acp => true,
        }
    }
}

/// Adds a private file to what an agent is started with, and says where it will be.
pub(crate) fn private_file(spec: &mut LaunchSpec, facts: &RunFacts, name: &str, text: String) -> String {
    spec.files.push(PrivateFile {
        name: name.to_owned(),
        bytes: text.into_bytes(),
    });
    format!("{}/{name}", facts.private_dir)
}

/// The file that tells of one server in the words that most agents have for it.
pub(crate) fn server_file(spec: &mut LaunchSpec, facts: &RunFacts, server: Value) -> String {
    let text = json!({"mcpServers": {PANEL_SERVER: server}}).to_string();
    private_file(spec, facts, TOOLS_FILE, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_the_door_is_not_shown() {
        let tools = PanelTools::Http {
            url: "http://127.0.0.1:1/mcp".to_owned(),
            bearer: "open-sesame".to_owned(),
        };
        let shown = format!("{tools:?}");
        assert_eq!(shown, r#"Http { url: "http://127.0.0.1:1/mcp", .. }"#);
    }
}
