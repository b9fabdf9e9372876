use serde_json::{Value, json};

use crate::command::launch_spec;
use crate::tools::{CALL_SECONDS, PANEL_SERVER, private_file};
use crate::{HarnessKind, LaunchSpec, OwnSettings, PanelTools, Permissions, RunFacts};

/// The extension that tells pi of our server: the file in which it reads of others lies beside the sign-in, and is the person's.
const EXTENSION_FILE: &str = "panel-tools.ts";
/// What connects servers is an extension as well, and shut out with the others: here it connects ours and reads of no other.
const CONNECT_OURS: &str = "\
  const own = await import(\"@earendil-works/pi-coding-agent\").catch(() => ({}));
  own.createMcpExtension?.({ loadConfig: () => ({ servers: [], errors: [] }) })(pi);
";

/// How pi is started.
pub(super) fn launch(argv: &[String], facts: &RunFacts) -> LaunchSpec {
    let mut argv = argv.to_vec();
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-p", "--mode", "json"]);
    if let Some(model) = &facts.model {
        add(&["--model", model]);
    }
    if let Some(effort) = &facts.effort {
        add(&["--thinking", effort]);
    }
    if let Some(session) = facts.session_of(HarnessKind::Pi) {
        // `--session-id` would begin a new conversation under the name of one that is gone; this one says so.
        add(&["--session", session]);
    }
    if facts.permissions == Permissions::Edit {
        // It asks nobody and knows no rules. Where it is started with less than everything nevertheless, it has no shell.
        add(&["--tools", &usable(facts.tools.is_some())]);
    }
    if facts.settings == OwnSettings::ShutOut {
        add(&["--no-extensions", "--no-skills", "--no-prompt-templates"]);
    }
    let mut spec = launch_spec(&argv, facts, facts.prompt.clone().into_bytes());
    if let Some(tools) = &facts.tools {
        let extension = extension(tools, facts.settings);
        let file = private_file(&mut spec, facts, EXTENSION_FILE, extension);
        spec.argv.extend(["--extension".to_owned(), file]);
    }
    for (name, value) in [
        ("PI_OFFLINE", "1"),
        ("PI_TELEMETRY", "0"),
        ("PI_SKIP_VERSION_CHECK", "1"),
    ] {
        spec.env.insert(name.to_owned(), value.to_owned());
    }
    spec
}

/// What it may use where it has no shell.
fn usable(with_ours: bool) -> String {
    let ours = if with_ours { ",mcp__panel__*" } else { "" };
    format!("read,grep,find,ls,edit,write{ours}")
}

/// Versions that know no servers have no word for it; they work without.
fn extension(tools: &PanelTools, settings: OwnSettings) -> String {
    let connect = match settings {
        OwnSettings::Use => "",
        OwnSettings::ShutOut => CONNECT_OURS,
    };
    let (name, server) = (Value::from(PANEL_SERVER), server(tools));
    format!("export default async (pi) => {{\n{connect}  pi.registerMcpServer?.({name}, {server});\n}};\n")
}

/// The server gets the whole environment.
fn server(tools: &PanelTools) -> Value {
    match tools {
        PanelTools::Command { argv, keep: _ } => {
            let (program, arguments) = argv.split_first().expect("a command is never empty");
            json!({"command": program, "args": arguments, "exposure": "direct", "timeout": CALL_SECONDS})
        }
        PanelTools::Http { url, bearer } => json!({
            "url": url, "headers": {"Authorization": PanelTools::authorization(bearer)}, "exposure": "direct",
            "timeout": CALL_SECONDS}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(facts: &RunFacts) -> String {
        launch(&["pi".to_owned()], facts).argv.join(" ")
    }

    #[test]
    fn a_first_start_gives_the_prompt_on_standard_input() {
        let facts = RunFacts {
            prompt: "@do it".to_owned(),
            ..RunFacts::default()
        };
        let spec = launch(&["node".to_owned(), "pi.js".to_owned()], &facts);
        assert_eq!(spec.argv.join(" "), "node pi.js -p --mode json");
        assert_eq!(spec.stdin, b"@do it");
        assert_eq!(spec.env["PI_OFFLINE"], "1");
        assert_eq!(spec.env["PI_TELEMETRY"], "0");
    }

    #[test]
    fn model_effort_and_conversation_are_named() {
        let facts = RunFacts {
            model: Some("p/m".to_owned()),
            effort: Some("high".to_owned()),
            session: Some("01a2".to_owned()),
            settings: OwnSettings::ShutOut,
            ..RunFacts::default()
        };
        assert_eq!(
            words(&facts),
            "pi -p --mode json --model p/m --thinking high --session 01a2 --no-extensions --no-skills --no-prompt-templates"
        );
    }

    #[test]
    fn with_less_than_everything_it_has_no_shell() {
        let facts = RunFacts {
            permissions: Permissions::Edit,
            ..RunFacts::default()
        };
        assert_eq!(
            words(&facts),
            "pi -p --mode json --tools read,grep,find,ls,edit,write"
        );
    }
}
