use serde_json::Value;

use crate::command::launch_spec;
use crate::tools::CALL_SECONDS;
use crate::{HarnessKind, LaunchSpec, OwnSettings, PanelTools, Permissions, RunFacts};

/// What holds for every start. Sending analytics holds up each end where the vendor is out of reach, and a connection that is
/// refused would be tried for ever.
const ALWAYS: [&str; 3] = [
    "approval_policy=\"never\"",
    "analytics.enabled=false",
    "features.unbounded_connection_retries=false",
];

pub(super) fn launch(argv: &[String], facts: &RunFacts) -> LaunchSpec {
    let mut spec = launch_spec(argv, facts, facts.prompt.clone().into_bytes());
    let mut add = |words: &[&str]| spec.argv.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["exec", "--json"]);
    if facts.settings == OwnSettings::ShutOut {
        add(&["--ignore-user-config", "--ignore-rules"]);
    }
    for setting in ALWAYS {
        add(&["-c", setting]);
    }
    let sandbox = match facts.permissions {
        Permissions::Full => "danger-full-access",
        Permissions::Edit => "workspace-write",
    };
    add(&["-c", &text("sandbox_mode", sandbox)]);
    if let Some(model) = &facts.model {
        add(&["-c", &text("model", model)]);
    }
    if let Some(effort) = &facts.effort {
        add(&["-c", &text("model_reasoning_effort", effort)]);
    }
    for setting in facts.tools.iter().flat_map(server) {
        add(&["-c", &setting]);
    }
    match facts.session_of(HarnessKind::Codex) {
        Some(session) => add(&["resume", "--skip-git-repo-check", session, "-"]),
        None => add(&["--skip-git-repo-check", "-C", &facts.cwd, "-"]),
    }
    spec
}

/// Its server gets hardly any variable unless it is named, and no call of it is to wait for somebody who allows it. Without its tools
/// the agent would work on and not say so: then it is not to begin. One that is there already cannot be shown anything that is secret.
fn server(tools: &PanelTools) -> Vec<String> {
    let PanelTools::Command { argv, keep } = tools else {
        return Vec::new();
    };
    let (program, arguments) = argv.split_first().expect("a command is never empty");
    let set = |key: &str, value: Value| format!("mcp_servers.panel.{key}={value}");
    vec![
        set("command", program.as_str().into()),
        set("args", arguments.into()),
        set("env_vars", keep.as_slice().into()),
        set("required", true.into()),
        set("default_tools_approval_mode", "approve".into()),
        set("tool_timeout_sec", CALL_SECONDS.into()),
    ]
}

/// A setting whose value is a text. A text of JSON is one of TOML too.
fn text(key: &str, value: &str) -> String {
    format!("{key}={}", serde_json::Value::from(value))
}
