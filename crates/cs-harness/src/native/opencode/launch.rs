use serde_json::{Map, Value, json};

use super::super::{COMMIT_COMMANDS, LOOKING};
use crate::command::launch_spec;
use crate::tools::{CALL_SECONDS, PANEL_SERVER, private_file};
use crate::{HarnessKind, LaunchSpec, OwnSettings, PanelTools, Permissions, RunFacts};

/// The file that holds what our server wants to be shown, where there is one already: the configuration is a variable, which can be read.
const BEARER_FILE: &str = "panel-tools.bearer";

/// The variable that holds configuration of opencode.
pub(crate) const OPENCODE_CONFIG: &str = "OPENCODE_CONFIG_CONTENT";

/// What makes a command that looks do more: options, also shortened, that write a file or start a program or leave the tree, and a
/// redirection.
const DO_MORE: [&str; 5] = ["--ou", "--ext", "--textc", "--no-ind", ">"];

/// How opencode is started. Its configuration comes in a variable, which wins over the person's files and those of the tree.
pub(super) fn launch(argv: &[String], facts: &RunFacts) -> LaunchSpec {
    let mut argv = argv.to_vec();
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["run", "--format", "json", "--dir", &facts.cwd]);
    if let Some(model) = &facts.model {
        add(&["-m", model]);
    }
    if let Some(effort) = &facts.effort {
        add(&["--variant", effort]);
    }
    if let Some(session) = facts.session_of(HarnessKind::Opencode) {
        add(&["--session", session]);
    }
    if facts.permissions == Permissions::Full {
        add(&["--auto"]);
    }
    let mut spec = launch_spec(&argv, facts, facts.prompt.clone().into_bytes());
    let own = facts.given.get(OPENCODE_CONFIG);
    let own = own.and_then(|text| serde_json::from_str(text).ok());
    let mut config = over(
        own.unwrap_or_default(),
        [
            ("autoupdate", json!(false)),
            ("share", json!("disabled")),
            (
                "permission",
                permission(facts.permissions, facts.attachments.as_deref()),
            ),
        ],
    );
    if let Some(tools) = &facts.tools {
        let server = server(&mut spec, facts, tools);
        give(&mut config, server);
    }
    let mut set = |name: &str, value: &str| spec.env.insert(name.to_owned(), value.to_owned());
    set(OPENCODE_CONFIG, &Value::Object(config).to_string());
    set("OPENCODE_DISABLE_AUTOUPDATE", "1");
    set("OPENCODE_DISABLE_MODELS_FETCH", "1");
    set("OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
    if facts.settings == OwnSettings::ShutOut {
        // The sign-in is among its data and stays.
        set("XDG_CONFIG_HOME", &facts.private_dir);
        set("OPENCODE_DISABLE_CLAUDE_CODE", "1");
    }
    spec
}

/// A person's own configuration with ours in the place of what it says of the same.
fn over(mut own: Map<String, Value>, ours: [(&str, Value); 3]) -> Map<String, Value> {
    own.extend(ours.map(|(key, value)| (key.to_owned(), value)));
    // The settings of one agent go before those of all.
    for agents in ["agent", "mode"] {
        for agent in own
            .get_mut(agents)
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(Map::values_mut)
        {
            if let Some(agent) = agent.as_object_mut() {
                // An older word for it.
                for key in ["permission", "tools"] {
                    agent.remove(key);
                }
            }
        }
    }
    own
}

/// Puts our server among those of the person.
fn give(config: &mut Map<String, Value>, server: Value) {
    let servers = config.entry("mcp").or_insert_with(|| json!({}));
    if !servers.is_object() {
        *servers = json!({});
    }
    servers[PANEL_SERVER] = server;
}

/// The server gets the whole environment.
fn server(spec: &mut LaunchSpec, facts: &RunFacts, tools: &PanelTools) -> Value {
    let timeout_ms = CALL_SECONDS * 1000;
    match tools {
        PanelTools::Command { argv, keep: _ } => {
            json!({"type": "local", "command": argv, "environment": {}, "enabled": true, "timeout": timeout_ms})
        }
        PanelTools::Http { url, bearer } => {
            let file = private_file(spec, facts, BEARER_FILE, bearer.clone());
            let shown = PanelTools::authorization(&format!("{{file:{file}}}"));
            json!({"type": "remote", "url": url, "oauth": false, "enabled": true, "timeout": timeout_ms,
                "headers": {"Authorization": shown}})
        }
    }
}

/// Nothing is ever asked: nobody is there, and a question hangs for ever or ends the run without a word.
fn permission(permissions: Permissions, attachments: Option<&str>) -> Value {
    match permissions {
        Permissions::Full => json!("allow"),
        // Of the rules that fit a call the last one counts.
        Permissions::Edit => {
            let mut bash = Map::new();
            bash.insert("*".to_owned(), json!("deny"));
            for command in COMMIT_COMMANDS {
                bash.insert(command.to_owned(), json!("allow"));
                bash.insert(format!("{command} *"), json!("allow"));
            }
            for command in LOOKING {
                for more in DO_MORE {
                    bash.insert(format!("{command} *{more}*"), json!("deny"));
                }
            }
            json!({
                "*": "allow",
                "bash": bash,
                "external_directory": outside(attachments),
                "doom_loop": "deny",
                "question": "deny",
            })
        }
    }
}

/// What it may reach outside of its tree: nothing but what is attached to its card.
fn outside(attachments: Option<&str>) -> Value {
    match attachments {
        None => json!("deny"),
        Some(dir) => json!({"*": "deny", format!("{dir}/*"): "allow"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> RunFacts {
        RunFacts {
            card: "7".to_owned(),
            run: "r".to_owned(),
            prompt: "do it".to_owned(),
            cwd: "/tree".to_owned(),
            private_dir: "/private".to_owned(),
            ..RunFacts::default()
        }
    }

    fn words(spec: &LaunchSpec) -> String {
        spec.argv.join(" ")
    }

    fn config(spec: &LaunchSpec) -> Value {
        serde_json::from_str(&spec.env["OPENCODE_CONFIG_CONTENT"]).unwrap()
    }

    #[test]
    fn a_first_start_gives_the_prompt_on_standard_input() {
        let spec = launch(&["opencode".to_owned()], &facts());
        assert_eq!(words(&spec), "opencode run --format json --dir /tree --auto");
        assert_eq!(spec.stdin, b"do it");
        assert_eq!(
            config(&spec),
            json!({"autoupdate": false, "share": "disabled", "permission": "allow"})
        );
        assert!(!spec.env.contains_key("XDG_CONFIG_HOME"));
    }

    #[test]
    fn what_a_person_has_configured_in_the_variable_holds_but_for_what_is_said_here() {
        let own = json!({
            "provider": {"mine": {"name": "Mine"}}, "share": "auto", "permission": {"bash": "ask"},
            "agent": {"build": {"model": "m", "permission": {"bash": "ask"}, "tools": {"bash": true}}},
        });
        let with = |text: String| RunFacts {
            given: [("OPENCODE_CONFIG_CONTENT".to_owned(), text)].into(),
            ..facts()
        };
        let spec = launch(&["opencode".to_owned()], &with(own.to_string()));
        assert_eq!(
            config(&spec),
            json!({"provider": {"mine": {"name": "Mine"}}, "autoupdate": false, "share": "disabled", "permission": "allow",
                   "agent": {"build": {"model": "m"}}})
        );
        for broken in ["", "[1]", "{"] {
            let spec = launch(&["opencode".to_owned()], &with(broken.to_owned()));
            assert_eq!(config(&spec)["permission"], "allow", "{broken}");
        }
    }

    #[test]
    fn model_effort_and_conversation_are_named() {
        let facts = RunFacts {
            model: Some("p/m".to_owned()),
            effort: Some("high".to_owned()),
            session: Some("ses_1".to_owned()),
            settings: OwnSettings::ShutOut,
            ..facts()
        };
        let spec = launch(&["opencode".to_owned()], &facts);
        assert_eq!(
            words(&spec),
            "opencode run --format json --dir /tree -m p/m --variant high --session ses_1 --auto"
        );
        assert_eq!(spec.env["XDG_CONFIG_HOME"], "/private");
    }

    #[test]
    fn edit_allows_no_command_but_those_of_a_commit_and_never_asks() {
        let facts = RunFacts {
            permissions: Permissions::Edit,
            ..facts()
        };
        let spec = launch(&["opencode".to_owned()], &facts);
        assert!(!words(&spec).contains("--auto"));
        let rules = &config(&spec)["permission"];
        assert_eq!(rules["bash"]["*"], "deny");
        assert_eq!(rules["bash"]["git commit *"], "allow");
        let keys: Vec<&String> = rules["bash"].as_object().unwrap().keys().collect();
        let at = |key: &str| keys.iter().position(|known| *known == key).unwrap();
        for more in ["--ou", "--ext", "--textc", "--no-ind", ">"] {
            let denied = format!("git log *{more}*");
            assert_eq!(rules["bash"][&denied], "deny");
            assert!(at("git log *") < at(&denied));
        }
        assert_eq!(rules["external_directory"], "deny");
        assert!(!rules.to_string().contains("ask"));
        let facts = RunFacts {
            attachments: Some("/state/attachments/7".to_owned()),
            ..facts
        };
        let rules = &config(&launch(&["opencode".to_owned()], &facts))["permission"];
        let outside = rules["external_directory"].as_object().unwrap();
        let outside: Vec<_> = outside.iter().map(|(key, rule)| (key.as_str(), rule)).collect();
        let (deny, allow) = (json!("deny"), json!("allow"));
        assert_eq!(outside, [("*", &deny), ("/state/attachments/7/*", &allow)]);
        let first = rules["bash"].as_object().unwrap().keys().next();
        assert_eq!(
            first.map(String::as_str),
            Some("*"),
            "the last rule that fits counts"
        );
    }
}
