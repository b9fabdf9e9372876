//! What an agent was kept from becomes a question, of every agent that tells of it: short, without what looks like a secret, and its
//! answer goes to the same conversation. pi asks nobody and is kept from nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "recorded/read.rs"]
mod read;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cs_harness::{
    AgentConfig, Event, Harness, HarnessKind, Permissions, ProcessEnd, RunFacts, Seen, TaskEnd, Wake, adapter,
};

/// A call with a secret, and longer than anybody reads.
fn call() -> String {
    let long = "very-long-name ".repeat(400);
    format!(
        "curl -H 'Authorization: Bearer hunter2.hunter2' --token hunter2hunter2 https://ada:hunter2@h/ {long}"
    )
}

/// An agent that was kept from something: what it printed, with the call in the place of what was recorded.
struct Case {
    kind: HarnessKind,
    printed: String,
    /// What stands before the call in the question.
    tool: &'static str,
}

fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn replaced(recording: &str, what: &str) -> String {
    let text = recorded(recording);
    assert!(text.contains(what), "{recording} has {what}");
    text.replace(what, &call())
}

fn cases() -> [Case; 4] {
    let codex = recorded("codex/mcp-ws.jsonl");
    let (before, last) = codex.trim_end().rsplit_once('\n').unwrap();
    let declined = format!(
        r#"{{"type":"item.completed","item":{{"id":"item_9","type":"command_execution","command":"{}","exit_code":-1,"status":"declined"}}}}"#,
        call()
    );
    let codex = format!("{before}\n{declined}\n{last}\n");
    let opencode = recorded("opencode/text.jsonl");
    let (before, last) = opencode.trim_end().rsplit_once('\n').unwrap();
    let denied = format!(
        r#"{{"type":"tool_use","sessionID":"ses_1","part":{{"type":"tool","tool":"bash","callID":"c","state":{{"status":"error","input":{{"command":"{}"}},"error":"The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules []"}}}}}}"#,
        call()
    );
    let acp = [
        Event::Session {
            id: "ses-1".to_owned(),
        },
        Event::Denied {
            what: format!("execute: {}", call()),
        },
        Event::Final {
            text: "I was not allowed.".to_owned(),
        },
        Event::End { ok: true },
    ];
    let acp = acp.map(|event| serde_json::to_string(&event).unwrap());
    [
        Case {
            kind: HarnessKind::Claude,
            printed: replaced(
                "claude/perm-default.jsonl",
                "echo made-by-shell > made.txt && cat made.txt",
            ),
            tool: "Bash: curl",
        },
        Case {
            kind: HarnessKind::Codex,
            printed: codex,
            tool: "command: curl",
        },
        Case {
            kind: HarnessKind::Opencode,
            printed: format!("{before}\n{denied}\n{last}\n"),
            tool: "bash: curl",
        },
        Case {
            kind: HarnessKind::Acp,
            printed: acp.join("\n") + "\n",
            tool: "execute: curl",
        },
    ]
}

fn harness(kind: HarnessKind) -> Arc<dyn Harness> {
    let program = kind.program().unwrap_or("agent").to_owned();
    adapter(&AgentConfig::new("agent", vec![program], kind).unwrap())
}

fn seen(harness: &dyn Harness, printed: &str) -> Seen {
    let mut seen = Seen::default();
    for event in read::events(harness, printed.as_bytes()) {
        seen.observe(&event);
    }
    seen
}

#[test]
fn what_was_denied_becomes_a_short_question_without_its_secrets() {
    for case in cases() {
        let harness = harness(case.kind);
        let seen = seen(&*harness, &case.printed);
        let outcome = harness.outcome(&ProcessEnd::Exited(0), &seen);
        let TaskEnd::Asked { question, .. } = outcome.task else {
            panic!("{}: {:?}", case.kind, outcome.task)
        };
        assert!(question.contains(case.tool), "{}: {question}", case.kind);
        assert!(!question.contains("hunter2"), "{}: {question}", case.kind);
        let denied = question.lines().filter(|line| line.starts_with("- "));
        let longest = denied.map(str::len).max().unwrap();
        assert!((10..600).contains(&longest), "{}: {question}", case.kind);
    }
}

#[test]
fn its_answer_goes_to_the_same_conversation() {
    for case in cases() {
        let harness = harness(case.kind);
        let seen = seen(&*harness, &case.printed);
        let session = seen.session().unwrap().to_owned();
        let facts = RunFacts {
            wake: Wake::Answer,
            session: Some(session.clone()),
            permissions: Permissions::Edit,
            prompt: "Use something else.".to_owned(),
            cwd: "/tree".to_owned(),
            private_dir: "/private".to_owned(),
            ..RunFacts::default()
        };
        let launch = harness.launch(&facts);
        let stdin = String::from_utf8(launch.stdin).unwrap();
        assert!(
            launch.argv.contains(&session) || stdin.contains(&session),
            "{}: {:?}",
            case.kind,
            launch.argv
        );
        assert!(stdin.contains("Use something else."), "{}: {stdin}", case.kind);
    }
}
