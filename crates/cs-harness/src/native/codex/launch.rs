use crate::command::launch_spec;
use crate::{HarnessKind, LaunchSpec, OwnSettings, Permissions, RunFacts};

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
    match facts.session_of(HarnessKind::Codex) {
        Some(session) => add(&["resume", "--skip-git-repo-check", session, "-"]),
        None => add(&["--skip-git-repo-check", "-C", &facts.cwd, "-"]),
    }
    spec
}

/// A setting whose value is a text. A text of JSON is one of TOML too.
fn text(key: &str, value: &str) -> String {
    format!("{key}={}", serde_json::Value::from(value))
}
