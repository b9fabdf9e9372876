//! How each agent is told of the tools that it is given: what is added to how it is started without them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use cs_harness::{
    AgentConfig, HarnessKind, LaunchSpec, OwnSettings, PanelTools, Permissions, RunFacts, adapter,
};

const BEARER: &str = "open-sesame";

fn facts(permissions: Permissions, settings: OwnSettings, tools: Option<PanelTools>) -> RunFacts {
    RunFacts {
        prompt: "do it\n".to_owned(),
        new_session: "6b1f2c9e-5d0a-4b7c-9d43-0c1e2f3a4b5c".to_owned(),
        cwd: "/tree".to_owned(),
        private_dir: "/x".to_owned(),
        permissions,
        settings,
        tools,
        ..RunFacts::default()
    }
}

fn command() -> PanelTools {
    PanelTools::Command {
        argv: ["/opt/my panel", "mcp", "--execution", "/x"]
            .map(str::to_owned)
            .to_vec(),
        keep: vec!["CS_PANEL_EXECUTION".to_owned()],
    }
}

fn http() -> PanelTools {
    PanelTools::Http {
        url: "http://127.0.0.1:7/mcp".to_owned(),
        bearer: BEARER.to_owned(),
    }
}

fn launch(kind: HarnessKind, facts: &RunFacts) -> LaunchSpec {
    let agent = AgentConfig::new("agent", vec!["agent".to_owned()], kind);
    adapter(&agent.unwrap()).launch(facts)
}

/// What the tools add: words, variables, files, and the start line where that is told of them.
fn added(kind: HarnessKind, permissions: Permissions, settings: OwnSettings, tools: PanelTools) -> String {
    let without = launch(kind, &facts(permissions, settings, None));
    let with = launch(kind, &facts(permissions, settings, Some(tools)));
    let mut all = String::new();
    let mut before = without.argv.iter().peekable();
    for word in &with.argv {
        if before.next_if_eq(&word).is_none() {
            writeln!(all, "  {word}").unwrap();
        }
    }
    if let Some(gone) = before.next() {
        writeln!(all, "  in the place of {gone}").unwrap();
    }
    for (name, value) in &with.env {
        match without.env.get(name) {
            Some(before) if before == value => {}
            Some(before) => writeln!(all, "  {name}: {}", new_parts(before, value)).unwrap(),
            None => writeln!(all, "  {name}={value}").unwrap(),
        }
    }
    for file in &with.files {
        let text = String::from_utf8(file.bytes.clone()).unwrap();
        writeln!(all, "  file {}: {}", file.name, text.trim_end()).unwrap();
    }
    if with.stdin != without.stdin {
        let line: serde_json::Value = serde_json::from_slice(&with.stdin).unwrap();
        writeln!(all, "  start line: {}", line["tools"]).unwrap();
    }
    all
}

/// What an object of JSON holds that was not in it before. All else has to be as it was.
fn new_parts(before: &str, after: &str) -> String {
    let read = |text: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).unwrap();
    let (before, mut after) = (read(before), read(after));
    for (key, value) in &before {
        assert_eq!(after.remove(key).as_ref(), Some(value), "{key}");
    }
    serde_json::Value::Object(after).to_string()
}

fn table(tools: fn() -> PanelTools) -> String {
    let mut table = String::new();
    for kind in HarnessKind::ALL {
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        for permissions in Permissions::ALL {
            for settings in OwnSettings::ALL {
                let all = added(kind, permissions, settings, tools());
                let when = format!("{}/{}", permissions.as_str(), settings.as_str());
                match told.iter_mut().find(|(known, _)| *known == all) {
                    Some((_, whens)) => whens.push(when),
                    None => told.push((all, vec![when])),
                }
            }
        }
        for (all, whens) in told {
            writeln!(table, "{kind} {}\n{all}", whens.join(" ")).unwrap();
        }
    }
    table
}

#[test]
fn a_server_that_the_agent_starts() {
    insta::assert_snapshot!(table(command));
}

#[test]
fn a_server_that_is_there_already() {
    insta::assert_snapshot!(table(http));
}

#[test]
fn what_opens_the_server_stands_in_private_files_only() {
    for kind in HarnessKind::ALL {
        for permissions in Permissions::ALL {
            for settings in OwnSettings::ALL {
                let spec = launch(kind, &facts(permissions, settings, Some(http())));
                let readable = format!("{:?} {:?}", spec.argv, spec.env);
                assert!(!readable.contains(BEARER), "{kind}: {readable}");
                let private = spec.files.iter().map(|file| &file.bytes).chain([&spec.stdin]);
                let found = private
                    .filter(|bytes| String::from_utf8_lossy(bytes).contains(BEARER))
                    .count();
                assert_eq!(found == 1, kind.reaches_over_http(), "{kind}");
            }
        }
    }
}
