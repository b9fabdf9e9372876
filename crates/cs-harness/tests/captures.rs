//! What was recorded from the real programs is judged as it was: one row of a table for each recording.
//!
//! A row: case | end of the process | conversation | what was used | what came of the task.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "recorded/read.rs"]
mod read;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_harness::{
    AgentConfig, AskAgain, Event, FailureCause, Harness, HarnessKind, ProcessEnd, Seen, SessionFiles,
    TaskEnd, UsageTotals, adapter,
};
use proptest::prelude::*;

use read::events;

fn harness(kind: HarnessKind) -> Arc<dyn Harness> {
    let program = kind.program().unwrap().to_owned();
    adapter(&AgentConfig::new("agent", vec![program], kind).unwrap())
}

fn seen(harness: &dyn Harness, output: &[u8]) -> Seen {
    let mut seen = Seen::default();
    for event in events(harness, output) {
        seen.observe(&event);
    }
    seen
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/captures")
        .join(name)
}

fn recordings(name: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder(name)).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files
}

fn number(of: Option<u64>) -> String {
    of.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn used(totals: &UsageTotals) -> String {
    if *totals == UsageTotals::default() {
        return "nothing used".to_owned();
    }
    format!(
        "turns {} in {} cached {} out {} reasoning {} micro-usd {}",
        number(totals.turns),
        number(totals.input_tokens),
        number(totals.cached_tokens),
        number(totals.output_tokens),
        number(totals.reasoning_tokens),
        number(totals.cost_micro_usd)
    )
}

fn came_of_it(task: &TaskEnd, seen: &Seen) -> String {
    match task {
        TaskEnd::Answered { text } => format!("answered: {text}"),
        TaskEnd::Asked { question, .. } => {
            assert!(seen.denied().iter().all(|what| question.contains(what)));
            format!("asked about {}", seen.denied().len())
        }
        TaskEnd::OfferedLanding { .. } => "offered".to_owned(),
        TaskEnd::Failed {
            class, cause, again, ..
        } => {
            let cause = match cause {
                FailureCause::Told(Some(status)) => format!(" {status}"),
                FailureCause::Told(None) if class.to_string() == "agent" => " told".to_owned(),
                FailureCause::TurnCap => " turn cap".to_owned(),
                FailureCause::MoneyCap => " money cap".to_owned(),
                FailureCause::NoSuchSession => " no such session".to_owned(),
                _ => String::new(),
            };
            let again = match again {
                None => String::new(),
                Some(AskAgain::AfterMs(ms)) => format!(", again in {ms} ms"),
                Some(AskAgain::AtUnix(at)) => format!(", again at {at}"),
            };
            format!("failed: {class}{cause}{again}")
        }
    }
}

fn end(text: &str) -> ProcessEnd {
    match text.split_once(' ').unwrap() {
        ("exit", code) => ProcessEnd::Exited(code.parse().unwrap()),
        ("signal", number) => ProcessEnd::Signalled(number.parse().unwrap()),
        _ => panic!("{text} is no end of a process"),
    }
}

fn judged(harness: &dyn Harness, row: &str, name: &str) -> String {
    let parts: Vec<_> = row.splitn(5, " | ").collect();
    let file = |ending: &str| folder(name).join(format!("{}.{ending}", parts[0]));
    let mut seen = seen(harness, &fs::read(file("jsonl")).unwrap());
    seen.observe_stderr(&fs::read_to_string(file("stderr")).unwrap_or_default());
    assert_eq!(seen.unknown_count(), 0, "{name}/{}: not understood", parts[0]);
    let outcome = harness.outcome(&end(parts[1]), &seen);
    format!(
        "{} | {} | {} | {} | {}",
        parts[0],
        parts[1],
        seen.session().unwrap_or("none"),
        used(&seen.usage(&UsageTotals::default())),
        came_of_it(&outcome.task, &seen)
    )
}

fn check(kind: HarnessKind, name: &str) {
    let harness = harness(kind);
    let table = fs::read_to_string(folder(&format!("{name}.table"))).unwrap();
    let rows: Vec<_> = table.lines().collect();
    let wrong: Vec<_> = rows
        .iter()
        .map(|row| (row, judged(&*harness, row, name)))
        .filter(|(row, judged)| *row != judged)
        .map(|(row, judged)| format!("expected {row}\n   found {judged}\n"))
        .collect();
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.concat());
    assert_eq!(
        rows.len(),
        recordings(name).len(),
        "{name}: a row for each recording"
    );
}

#[test]
fn claude_code_is_judged_as_it_was() {
    check(HarnessKind::Claude, "claude");
}

#[test]
fn an_older_claude_code_is_judged_as_it_was() {
    check(HarnessKind::Claude, "claude197");
}

#[test]
fn codex_is_judged_as_it_was() {
    check(HarnessKind::Codex, "codex");
}

const ALL: [(HarnessKind, &str); 3] = [
    (HarnessKind::Claude, "claude"),
    (HarnessKind::Claude, "claude197"),
    (HarnessKind::Codex, "codex"),
];

#[test]
fn output_that_ends_before_its_end_mark_is_no_success() {
    for (kind, name) in ALL {
        let harness = harness(kind);
        for file in recordings(name) {
            let whole = fs::read(&file).unwrap();
            let Some(last) = whole.trim_ascii_end().iter().rposition(|byte| *byte == b'\n') else {
                continue;
            };
            for cut in [last + 1, last + 2, (last + whole.len()) / 2, whole.len() - 1] {
                let seen = seen(&*harness, &whole[..cut]);
                let outcome = harness.outcome(&ProcessEnd::Exited(0), &seen);
                assert!(
                    matches!(outcome.task, TaskEnd::Failed { .. }),
                    "{}: {outcome:?}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn what_a_tool_printed_is_not_copied_into_events() {
    let harness = harness(HarnessKind::Codex);
    let big = "x".repeat(900_000);
    let line = format!(
        "{{\"type\":\"item.completed\",\"item\":{{\"id\":\"1\",\"type\":\"command_execution\",\"command\":\"{big}\",\"aggregated_output\":\"{big}\",\"exit_code\":0,\"status\":\"completed\"}}}}\n"
    );
    let events = events(&*harness, line.as_bytes());
    let expected = Event::ToolEnd {
        call: "1".to_owned(),
        ok: true,
    };
    assert_eq!(events, [expected]);
}

#[test]
fn the_words_of_the_model_and_its_tools_are_never_taken_for_a_failure() {
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"API Error: 401 invalid api key"}]},"session_id":"s"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"unexpected status 402: billing"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"I saw: rate limit reached, 429","terminal_reason":"completed"}
"#;
    let claude = harness(HarnessKind::Claude);
    let outcome = claude.outcome(&ProcessEnd::Exited(0), &seen(&*claude, said.as_bytes()));
    assert!(matches!(outcome.task, TaskEnd::Answered { .. }), "{outcome:?}");
}

#[test]
fn an_error_of_the_provider_that_claude_code_calls_a_success_is_a_failure() {
    let said = r#"{"type":"assistant","error":"authentication_failed","message":{"content":[{"type":"text","text":"Please run /login"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"Please run /login"}
"#;
    let claude = harness(HarnessKind::Claude);
    let seen = seen(&*claude, said.as_bytes());
    let outcome = claude.outcome(&ProcessEnd::Exited(0), &seen);
    assert_eq!(came_of_it(&outcome.task, &seen), "failed: authentication");
}

#[test]
fn a_reset_that_was_stated_on_the_way_is_kept() {
    let said = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1764547200,"rateLimitType":"five_hour"}}
{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error","result":"You've hit your limit"}
"#;
    let claude = harness(HarnessKind::Claude);
    let seen = seen(&*claude, said.as_bytes());
    let outcome = claude.outcome(&ProcessEnd::Exited(1), &seen);
    assert_eq!(
        came_of_it(&outcome.task, &seen),
        "failed: rate_limit 429, again at 1764547200"
    );
}

#[test]
fn what_a_conversation_used_before_is_not_used_again() {
    let codex = harness(HarnessKind::Codex);
    let mut before = UsageTotals::default();
    for case in ["resume-1", "resume-2", "resume-3-othercwd"] {
        let output = fs::read(folder("codex").join(format!("{case}.jsonl"))).unwrap();
        let seen = seen(&*codex, &output);
        assert_eq!(seen.usage(&before).input_tokens, Some(1000), "{case}");
        before = seen.session_usage();
    }
}

/// A later result of a conversation that has cost 3 dollars before.
#[test]
fn a_total_of_the_cost_counts_as_the_version_of_claude_code_counts_it() {
    let claude = harness(HarnessKind::Claude);
    let before = UsageTotals {
        cost_micro_usd: Some(3_000_000),
        ..UsageTotals::default()
    };
    for (version, cost) in [("2.1.197", 5_000_000), ("2.1.332", 2_000_000)] {
        let said = format!(
            r#"{{"type":"system","subtype":"init","session_id":"s","claude_code_version":"{version}"}}
{{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":5.0,"usage":{{"input_tokens":7}}}}
"#
        );
        let used = seen(&*claude, said.as_bytes()).usage(&before);
        assert_eq!(
            (used.cost_micro_usd, used.input_tokens),
            (Some(cost), Some(7)),
            "{version}"
        );
    }
}

#[test]
fn a_silent_fall_back_to_a_new_conversation_is_seen() {
    let codex = harness(HarnessKind::Codex);
    let seen = seen(&*codex, b"{\"type\":\"thread.started\",\"thread_id\":\"new\"}\n");
    assert_eq!(seen.fell_back_from("old"), Some("new"));
    assert_eq!(seen.fell_back_from("new"), None);
}

fn lines() -> Vec<Vec<u8>> {
    let files = ALL.iter().flat_map(|(_, name)| recordings(name));
    let lines = files.flat_map(|file| {
        let output = fs::read(file).unwrap();
        let lines = output.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        lines.collect::<Vec<_>>()
    });
    lines.collect()
}

fn takes_anything(output: &[u8]) {
    for kind in [HarnessKind::Claude, HarnessKind::Codex] {
        let harness = harness(kind);
        let events = events(&*harness, output);
        let mut seen = Seen::default();
        for event in &events {
            seen.observe(event);
            let written = serde_json::to_string(event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&written).unwrap(), *event);
        }
        for end in [ProcessEnd::Exited(0), ProcessEnd::Exited(1), ProcessEnd::Unknown] {
            harness.outcome(&end, &seen);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(output in prop::collection::vec(any::<u8>(), 0..2000)) {
        takes_anything(&output);
    }

    #[test]
    fn real_lines_that_were_broken_are_taken(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 0..4),
        gone in 0_usize..40,
    ) {
        let lines = lines();
        let mut line = which.get(&lines).clone();
        let from = at.index(line.len());
        let to = (from + gone).min(line.len());
        line.splice(from..to, with);
        takes_anything(&line);
    }

    #[test]
    fn fields_of_another_shape_are_taken(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        shape in prop::sample::select(vec!["null", "[]", "{}", "7", "-1.5e300", "true", "\"text\""]),
    ) {
        let lines = lines();
        let line = String::from_utf8(which.get(&lines).clone()).unwrap();
        let values: Vec<_> = line.match_indices(':').map(|(at, _)| at + 1).collect();
        let from = *at.get(&values);
        let rest = line[from..].find([',', '}']).map_or(line.len(), |to| from + to);
        takes_anything(format!("{}{shape}{}", &line[..from], &line[rest..]).as_bytes());
    }
}

/// The number in its last line counts messages that no model has sent; its file knows of the one that was asked for.
#[test]
fn the_turns_of_claude_code_after_an_interruption_are_those_of_its_file() {
    let claude = harness(HarnessKind::Claude);
    let interrupted = fs::read_to_string(folder("claude").join("kill-SIGINT.jsonl")).expect("readable");
    let completed = interrupted.replace("aborted_tools", "completed");
    let mut file = SessionFiles::at(HarnessKind::Claude, PathBuf::new()).reader();
    for line in interrupted.lines() {
        file.read(line.as_bytes());
    }
    for (output, turns) in [(interrupted, 1), (completed, 3)] {
        let mut seen = Seen::default();
        for report in file.reports() {
            seen.observe(&Event::Usage(report));
        }
        for event in events(claude.as_ref(), output.as_bytes()) {
            seen.observe(&event);
        }
        assert_eq!(seen.usage(&UsageTotals::default()).turns, Some(turns));
    }
}
