//! Lines that are odd: too long, cut, or with a field that is not what it was. Nothing of them hides what else is told.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "recorded/read.rs"]
mod read;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_harness::{
    AgentConfig, Event, FailureCause, Harness, HarnessKind, LINE_MAX_BYTES, Line, ProcessEnd, Seen,
    TEXT_MAX_BYTES, TaskEnd, TurnMark, adapter,
};
use serde_json::{Value, json};

use read::events;

/// Every folder of recordings, whose they are, and the fields that decide whether something ended, failed or is tried again.
const ALL: [(HarnessKind, &str, &[&str]); 6] = [
    (HarnessKind::Claude, "claude", &CLAUDE),
    (HarnessKind::Claude, "claude197", &CLAUDE),
    (HarnessKind::Codex, "codex", &["type", "message"]),
    (HarnessKind::Opencode, "opencode", &["type", "reason"]),
    (HarnessKind::Pi, "pi-0.73", &PI),
    (HarnessKind::Pi, "pi-1.6", &PI),
];
const CLAUDE: [&str; 9] = [
    "type",
    "subtype",
    "is_error",
    "terminal_reason",
    "api_error_status",
    "error",
    "is_api_error_message",
    // Whose words they are.
    "parent_tool_use_id",
    "status",
];
const PI: [&str; 4] = ["type", "role", "stopReason", "success"];

fn harness(kind: HarnessKind) -> Arc<dyn Harness> {
    adapter(&AgentConfig::new("agent", vec!["agent".to_owned()], kind).unwrap())
}

fn fold(events: &[Event]) -> Seen {
    let mut seen = Seen::default();
    events.iter().for_each(|event| seen.observe(event));
    seen
}

fn recordings(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/captures")
        .join(folder);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    files.sort();
    files
}

fn recorded(folder: &str, case: &str) -> Vec<u8> {
    let files = recordings(folder);
    fs::read(
        files
            .iter()
            .find(|file| file.file_stem().unwrap() == case)
            .unwrap(),
    )
    .unwrap()
}

/// A run of this kind that ends well.
fn good_run(kind: HarnessKind) -> Vec<u8> {
    let told = |event: Event| (json!(event).to_string() + "\n").into_bytes();
    match kind {
        HarnessKind::Claude => recorded("claude", "text"),
        HarnessKind::Codex => recorded("codex", "text"),
        HarnessKind::Opencode => recorded("opencode", "text"),
        HarnessKind::Pi => recorded("pi-0.73", "text"),
        HarnessKind::JsonLines => b"{\"type\":\"final\",\"text\":\"PONG: the final answer.\"}\n".to_vec(),
        HarnessKind::Acp => [
            told(Event::Said {
                text: "PONG: the final answer.".to_owned(),
            }),
            told(Event::End { ok: true }),
        ]
        .concat(),
        HarnessKind::Plain => b"PONG: the final answer.\n".to_vec(),
    }
}

/// All kinds whose output has a language.
fn spoken() -> impl Iterator<Item = HarnessKind> {
    HarnessKind::ALL
        .into_iter()
        .filter(|kind| *kind != HarnessKind::Plain)
}

fn said_bytes(events: &[Event]) -> usize {
    events.iter().map(|event| json!(event).to_string().len()).sum()
}

#[test]
fn a_line_that_is_too_long_is_counted_and_hides_nothing_that_follows() {
    let mut bytes = br#"{"type":"text","text":""#.to_vec();
    bytes.resize(LINE_MAX_BYTES, b'x');
    bytes.push(b'\n');
    let line = Line {
        bytes: &bytes,
        dropped_bytes: 84_000_000,
    };
    for kind in spoken() {
        let harness = harness(kind);
        let mut all = harness.events(&line);
        assert!(said_bytes(&all) < 10_000, "{kind}: {} bytes", said_bytes(&all));
        all.extend(events(&*harness, &good_run(kind)));
        let seen = fold(&all);
        assert_eq!(seen.unknown_count(), 1, "{kind}");
        let answered = TaskEnd::Answered {
            text: "PONG: the final answer.".to_owned(),
        };
        assert_eq!(
            harness.outcome(&ProcessEnd::Exited(0), &seen).task,
            answered,
            "{kind}"
        );
    }
}

#[test]
fn a_line_that_is_too_long_and_never_ends_is_half_a_line() {
    let line = Line {
        bytes: br#"{"type":"text","text":"xxx"#,
        dropped_bytes: 84_000_000,
    };
    for kind in spoken() {
        let harness = harness(kind);
        let seen = fold(&harness.events(&line));
        let task = harness.outcome(&ProcessEnd::Exited(0), &seen).task;
        let is_half = matches!(
            task,
            TaskEnd::Failed {
                cause: FailureCause::HalfLine,
                ..
            }
        );
        assert!(is_half && seen.unknown_count() == 1, "{kind}: {task:?}");
    }
}

#[test]
fn half_a_line_after_the_last_turn_of_an_agent_without_an_end_mark_is_no_success() {
    for kind in [HarnessKind::Opencode, HarnessKind::Pi, HarnessKind::JsonLines] {
        let harness = harness(kind);
        let output = [good_run(kind), br#"{"type":"step_st"#.to_vec()].concat();
        let task = harness
            .outcome(&ProcessEnd::Exited(0), &fold(&events(&*harness, &output)))
            .task;
        let is_half = matches!(
            task,
            TaskEnd::Failed {
                cause: FailureCause::HalfLine,
                ..
            }
        );
        assert!(is_half, "{kind}: {task:?}");
    }
}

#[test]
fn a_run_that_is_cut_anywhere_before_its_end_is_no_success() {
    for kind in spoken() {
        let (harness, whole) = (harness(kind), good_run(kind));
        // From here on its last word is whole, and only the line feed is missing.
        let last = whole.len() - 2;
        let first_of_last = whole[..last]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        for cut in [1, first_of_last / 2, first_of_last + 1, last] {
            let seen = fold(&events(&*harness, &whole[..cut]));
            let task = harness.outcome(&ProcessEnd::Exited(0), &seen).task;
            assert!(matches!(task, TaskEnd::Failed { .. }), "{kind}, {cut}: {task:?}");
        }
    }
}

#[test]
fn what_is_kept_of_a_message_that_is_not_known_is_bounded() {
    let long = "x".repeat(1_000_000);
    let lines = [
        json!({"type": "later", "x": long}),
        json!({"type": long}),
        json!({"type": "system", "subtype": long}),
        json!({"type": "item.completed", "item": {"type": long}}),
    ];
    for kind in spoken() {
        for line in &lines {
            let all = events(&*harness(kind), format!("{line}\n").as_bytes());
            assert!(
                matches!(&all[..], [Event::Unknown { .. }]),
                "{kind}: {} events",
                all.len()
            );
            assert!(
                said_bytes(&all) < 2 * TEXT_MAX_BYTES + 1_000,
                "{kind}: {} bytes",
                said_bytes(&all)
            );
        }
    }
}

#[test]
fn the_name_of_a_tool_call_is_bounded() {
    let long = "x".repeat(1_000_000);
    let lines = [
        (
            HarnessKind::Claude,
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": long, "name": long}]}}),
        ),
        (
            HarnessKind::Claude,
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": long}]}}),
        ),
        (
            HarnessKind::Claude,
            json!({"type": "result", "permission_denials": [{"tool_name": long}]}),
        ),
        (
            HarnessKind::Codex,
            json!({"type": "item.started", "item": {"type": "command_execution", "id": long, "command": long}}),
        ),
        (
            HarnessKind::Codex,
            json!({"type": "item.completed", "item": {"type": "web_search", "id": long, "query": long}}),
        ),
        (
            HarnessKind::Opencode,
            json!({"type": "tool_use", "part": {"tool": long, "callID": long, "state": {"title": long}}}),
        ),
        (
            HarnessKind::Pi,
            json!({"type": "tool_execution_start", "toolCallId": long, "toolName": long}),
        ),
    ];
    for (kind, line) in lines {
        let bytes = said_bytes(&events(&*harness(kind), format!("{line}\n").as_bytes()));
        assert!(bytes < 3 * TEXT_MAX_BYTES, "{kind}: {bytes} bytes");
    }
}

/// The places of all values that hold no others.
fn leaves(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(field, &format!("{at}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{at}/{index}"), all);
            }
        }
        _ => all.push(at.to_owned()),
    }
}

/// The events by which an attempt is judged or stopped.
fn marks(harness: &dyn Harness, line: &Value) -> Vec<&'static str> {
    let all = events(harness, format!("{line}\n").as_bytes());
    let marks = all.iter().filter_map(|event| match event {
        Event::End { .. } => Some("end"),
        Event::Retry(_) => Some("retry"),
        Event::Failed(_) => Some("failed"),
        Event::Turn {
            mark: TurnMark::Rests,
        } => Some("rests"),
        _ => None,
    });
    marks.collect()
}

/// The recorded lines, of those that are alike one.
fn lines(folder: &str) -> Vec<Value> {
    let mut known = BTreeSet::new();
    let outputs = recordings(folder)
        .into_iter()
        .map(|file| fs::read_to_string(file).unwrap());
    let outputs: Vec<String> = outputs.collect();
    let lines = outputs.iter().flat_map(|output| output.lines());
    let values = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values
        .filter(|value| {
            let mut places = Vec::new();
            leaves(value, "", &mut places);
            let kind = ["/type", "/subtype", "/item/type", "/message/role", "/part/reason"];
            let kind = kind.map(|at| value.pointer(at).cloned().unwrap_or_default().to_string());
            known.insert((kind, places))
        })
        .collect()
}

#[test]
fn a_field_of_any_shape_hides_no_end_no_failure_and_no_retry_unless_it_decides() {
    for (kind, folder, decides) in ALL {
        let harness = harness(kind);
        for line in lines(folder) {
            let expected = marks(&*harness, &line);
            let mut places = Vec::new();
            leaves(&line, "", &mut places);
            for place in places {
                for shape in [
                    json!(null),
                    json!("x"),
                    json!(-7),
                    json!(true),
                    json!({}),
                    json!([null]),
                ] {
                    let mut odd = line.clone();
                    *odd.pointer_mut(&place).unwrap() = shape;
                    let found = marks(&*harness, &odd);
                    let name = place.rsplit('/').next().unwrap();
                    assert!(
                        decides.contains(&name) || found == expected,
                        "{folder}: {place} of {odd}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_object_that_is_not_there_hides_no_end_no_failure_and_no_retry_unless_it_decides() {
    for (kind, folder, _) in ALL {
        let harness = harness(kind);
        for line in lines(folder) {
            let expected = marks(&*harness, &line);
            let fields = line.as_object().unwrap();
            let objects = fields
                .iter()
                .filter(|(_, field)| field.is_object() || field.is_array());
            // These hold what the line is about.
            let objects =
                objects.filter(|(name, _)| !matches!(name.as_str(), "part" | "message" | "rate_limit_info"));
            for (name, _) in objects {
                for shape in [json!(null), json!("x"), json!([7])] {
                    let mut odd = line.clone();
                    odd[name] = shape;
                    assert_eq!(marks(&*harness, &odd), expected, "{folder}: {name} of {odd}");
                }
            }
        }
    }
}

fn as_texts(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(as_texts),
        Value::Array(items) => items.iter_mut().for_each(as_texts),
        Value::Number(number) => *value = json!(number.to_string()),
        _ => {}
    }
}

#[test]
fn numbers_that_are_written_as_texts_tell_the_same() {
    for (kind, folder, _) in ALL {
        let harness = harness(kind);
        for line in lines(folder) {
            let mut odd = line.clone();
            as_texts(&mut odd);
            let of = |line: &Value| events(&*harness, format!("{line}\n").as_bytes());
            assert_eq!(of(&odd), of(&line), "{folder}: {line}");
        }
    }
}

#[test]
fn a_limit_of_a_subscription_is_seen_whatever_else_the_line_holds() {
    let line = |info: Value| json!({"type": "rate_limit_event", "rate_limit_info": info});
    let claude = harness(HarnessKind::Claude);
    for info in [
        json!({"status": "rejected"}),
        json!({"status": "rejected", "resetsAt": null, "isUsingOverage": null}),
        json!({"status": "rejected", "resetsAt": {}, "isUsingOverage": "false"}),
        json!({"status": "rejected", "resetsAt": "1764547200", "isUsingOverage": 0}),
    ] {
        assert_eq!(marks(&*claude, &line(info.clone())), ["retry"], "{info}");
    }
    let over = json!({"status": "rejected", "isUsingOverage": true});
    assert_eq!(marks(&*claude, &line(over)), Vec::<&str>::new());
}

/// The word `success` is that of every error of the provider, too.
#[test]
fn claude_has_done_its_task_only_where_it_says_plainly_that_nothing_failed() {
    let recorded = String::from_utf8(recorded("claude", "text")).unwrap();
    let with = |is_error: Option<Value>| {
        let lines = recorded.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if line["type"] == "result" {
                let fields = line.as_object_mut().unwrap();
                match is_error.clone() {
                    Some(odd) => fields.insert("is_error".to_owned(), odd),
                    None => fields.remove("is_error"),
                };
            }
            line.to_string() + "\n"
        });
        let output: String = lines.collect();
        fold(&events(harness(HarnessKind::Claude).as_ref(), output.as_bytes()))
    };
    let ends_well = |seen: &Seen| seen.failure().is_none();
    assert!(ends_well(&with(Some(json!(false)))));
    for odd in [
        None,
        Some(json!(null)),
        Some(json!(1)),
        Some(json!({})),
        Some(json!(true)),
    ] {
        assert!(!ends_well(&with(odd.clone())), "{odd:?}");
    }
}
