//! The server of tools that the agent is given.

use std::collections::BTreeMap;

use cs_harness::PANEL_SERVER;
use serde::Deserialize;
use serde_json::{Value, json};

/// How the agent reaches it, as the start line says it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tools {
    /// The agent starts it.
    Command {
        argv: Vec<String>,
        /// Names of variables that it needs: some agents start servers with hardly any.
        keep: Vec<String>,
        /// Those that there are.
        #[serde(skip)]
        kept: BTreeMap<String, String>,
    },
    /// It is there.
    Http { url: String, bearer: String },
}

impl Tools {
    /// Takes over the variables that the server needs.
    pub(crate) fn take_over(&mut self, variable: impl Fn(&str) -> Option<String>) {
        match self {
            Self::Command { keep, kept, .. } => {
                let found = keep
                    .iter()
                    .filter_map(|name| Some((name.clone(), variable(name)?)));
                kept.extend(found);
            }
            Self::Http { .. } => {}
        }
    }

    /// The entry for it in a request that opens a conversation; nothing where the agent cannot reach it, by its answer to `initialize`.
    pub(crate) fn entry(&self, greeted: &Value) -> Option<Value> {
        match self {
            Self::Command { argv, kept, .. } => {
                let (program, arguments) = argv.split_first()?;
                let pairs = kept
                    .iter()
                    .map(|(name, value)| json!({"name": name, "value": value}));
                let env: Vec<Value> = pairs.collect();
                Some(json!({"name": PANEL_SERVER, "command": program, "args": arguments, "env": env}))
            }
            Self::Http { url, bearer } => {
                let shown = json!({"name": "Authorization", "value": format!("Bearer {bearer}")});
                let is_offered = greeted["agentCapabilities"]["mcpCapabilities"]["http"] == true;
                is_offered
                    .then(|| json!({"type": "http", "name": PANEL_SERVER, "url": url, "headers": [shown]}))
            }
        }
    }
}

/// Whether a message is about a call of a tool of ours. Each agent says it in another place: in the name of the tool, at the
/// beginning of the name of the call, or in the title. A title may be any text of the model, so it counts only where it is nothing else.
pub(crate) fn is_ours(message: &Value) -> bool {
    const QUALIFIED: [&str; 2] = ["mcp__panel__", "mcp_panel_"];
    let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_default();
    let is_qualified = |name: &str| QUALIFIED.iter().any(|mark| name.starts_with(mark));
    let name = text(&message["_meta"]["toolName"]);
    let title = text(&message["title"]);
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    message["kind"] == "other"
        && (is_qualified(&name)
            || is_qualified(&text(&message["toolCallId"]))
            || is_name(&title) && (is_qualified(&title) || title.starts_with("panel_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Tools {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_server_that_the_agent_starts_gets_the_variables_that_it_needs_and_that_there_are() {
        let mut tools = read(r#"{"command": {"argv": ["/bin/p", "mcp"], "keep": ["A", "B"]}}"#);
        tools.take_over(|name| (name == "A").then(|| "1".to_owned()));
        assert_eq!(
            tools.entry(&json!({})),
            Some(
                json!({"name": "panel", "command": "/bin/p", "args": ["mcp"], "env": [{"name": "A", "value": "1"}]})
            )
        );
    }

    #[test]
    fn a_call_of_our_tools_is_known_wherever_an_agent_names_it() {
        for (message, expected) in [
            (
                json!({"kind": "other", "toolCallId": "c1", "title": "panel_ask"}),
                true,
            ),
            (
                json!({"kind": "other", "toolCallId": "c1", "title": "mcp__panel__ask"}),
                true,
            ),
            (
                json!({"kind": "other", "toolCallId": "mcp_panel_ask__call_1", "title": "ask (panel MCP Server)"}),
                true,
            ),
            (
                json!({"kind": "other", "title": "{}", "_meta": {"toolName": "mcp__panel__ask"}}),
                true,
            ),
            (json!({"kind": "execute", "title": "panel_ask"}), false),
            (json!({"kind": "other", "title": "panel_ask; rm -r ."}), false),
            (json!({"kind": "other", "title": "ask (panel MCP Server)"}), false),
            (
                json!({"kind": "other", "toolCallId": "mcp_panels_ask__1", "title": "mcp_panel ask"}),
                false,
            ),
            (
                json!({"kind": "other", "_meta": {"toolName": "mcp__other__ask"}}),
                false,
            ),
        ] {
            assert_eq!(is_ours(&message), expected, "{message}");
        }
    }

    #[test]
    fn a_server_that_is_there_is_named_to_agents_that_can_reach_it() {
        let tools = read(r#"{"http": {"url": "http://127.0.0.1:1/mcp", "bearer": "b"}}"#);
        assert_eq!(tools.entry(&json!({"agentCapabilities": {}})), None);
        let offered = json!({"agentCapabilities": {"mcpCapabilities": {"http": true}}});
        let headers = json!([{"name": "Authorization", "value": "Bearer b"}]);
        assert_eq!(
            tools.entry(&offered),
            Some(
                json!({"type": "http", "name": "panel", "url": "http://127.0.0.1:1/mcp", "headers": headers})
            )
        );
    }
}
