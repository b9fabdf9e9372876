use serde_json::{Value, json};

use super::super::{COMMIT_COMMANDS, LOOKING};
use crate::command::launch_spec;
use crate::kind::is_uuid;
use crate::tools::{CALL_SECONDS, server_file};
use crate::{HarnessKind, LaunchSpec, OwnSettings, PanelTools, Permissions, RunFacts};

/// All tools of our server, in its words for what is allowed.
const OUR_TOOLS: &str = "mcp__panel";

/// What is always given: one JSON object per line, which only works together with `--verbose`. The prompt is standard input.
const ALWAYS: [&str; 4] = ["-p", "--output-format", "stream-json", "--verbose"];

pub(super) fn launch(argv: &[String], facts: &RunFacts) -> LaunchSpec {
    let mut spec = launch_spec(argv, facts, facts.prompt.clone().into_bytes());
    let tools = facts
        .tools
        .as_ref()
        .map(|tools| server_file(&mut spec, facts, server(tools)));
    let mut add = |words: &[&str]| spec.argv.extend(words.iter().map(|word| (*word).to_owned()));
    add(&ALWAYS);
    match facts.session_of(HarnessKind::Claude) {
        Some(session) => add(&["--resume", session]),
        None if is_uuid(&facts.new_session) => add(&["--session-id", &facts.new_session]),
        None => {}
    }
    if let Some(model) = &facts.model {
        add(&["--model", model]);
    }
    if let Some(effort) = &facts.effort {
        add(&["--effort", effort]);
    }
    if let Some(turns) = facts.most_turns {
        add(&["--max-turns", &turns.to_string()]);
    }
    if let Some(micro_usd) = facts.most_micro_usd {
        add(&["--max-budget-usd", &usd(micro_usd)]);
    }
    if let Some(file) = &tools {
        add(&["--mcp-config", file]);
    }
    // `--bare` shuts out more, but the sign-in with it.
    if facts.settings == OwnSettings::ShutOut {
        add(&["--strict-mcp-config", "--setting-sources", "project"]);
    }
    match facts.permissions {
        Permissions::Full => add(&["--permission-mode", "bypassPermissions"]),
        Permissions::Edit => {
            add(&["--permission-mode", "acceptEdits", "--allowedTools"]);
            // Those that look it allows by itself, and knows with which options they do more.
            for command in COMMIT_COMMANDS
                .iter()
                .filter(|command| !LOOKING.contains(command))
            {
                add(&[&format!("Bash({command}:*)")]);
            }
            if let Some(dir) = &facts.attachments {
                // Two slashes begin an absolute path: https://code.claude.com/docs/en/permissions
                add(&[&format!("Read(/{dir}/**)")]);
            }
            if tools.is_some() {
                add(&[OUR_TOOLS]);
            }
        }
    }
    set_env(&mut spec, facts);
    spec
}

/// Its tools are there from the first request on, not only after a search. The server gets the whole environment.
fn server(tools: &PanelTools) -> Value {
    let timeout_ms = CALL_SECONDS * 1000;
    match tools {
        PanelTools::Command { argv, keep: _ } => {
            let (program, arguments) = argv.split_first().expect("a command is never empty");
            json!({"type": "stdio", "command": program, "args": arguments, "env": {}, "alwaysLoad": true, "timeout": timeout_ms})
        }
        PanelTools::Http { url, bearer } => json!({
            "type": "http", "url": url, "headers": {"Authorization": PanelTools::authorization(bearer)},
            "alwaysLoad": true, "timeout": timeout_ms}),
    }
}

fn set_env(spec: &mut LaunchSpec, facts: &RunFacts) {
    let mut set = |name: &str, value: &str| {
        spec.env.insert(name.to_owned(), value.to_owned());
    };
    set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    // It would try for three minutes; whoever started it waits without holding a place.
    set("CLAUDE_CODE_MAX_RETRIES", "2");
    set("DISABLE_AUTOUPDATER", "1");
    if facts.permissions == Permissions::Full {
        // Without it the superuser may not let it do everything.
        set("IS_SANDBOX", "1");
    }
    if facts.settings == OwnSettings::ShutOut {
        set("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1");
    }
}

fn usd(micro_usd: u64) -> String {
    format!("{}.{:06}", micro_usd / 1_000_000, micro_usd % 1_000_000)
}
