//! Files that the real programs have written, in two attempts on one conversation, with three requests of the model each. Their long
//! lines, which tell nothing of this, are left out.

use super::*;
use crate::{Event, Seen};

const CLAUDE: [&str; 2] = [
    include_str!("../../../tests/recorded/session-files/claude-first.jsonl"),
    include_str!("../../../tests/recorded/session-files/claude-resumed.jsonl"),
];
const CODEX: [&str; 2] = [
    include_str!("../../../tests/recorded/session-files/codex-first.jsonl"),
    include_str!("../../../tests/recorded/session-files/codex-resumed.jsonl"),
];
/// It was killed while a tool worked for its second request, and then asked to go on.
const CODEX_KILLED: [&str; 2] = [
    include_str!("../../../tests/recorded/session-files/codex-killed.jsonl"),
    include_str!("../../../tests/recorded/session-files/codex-after-kill.jsonl"),
];
const SESSION: &str = "01234567-89ab-4cde-8f01-23456789abcd";

fn files(kind: HarnessKind) -> SessionFiles {
    SessionFiles::of(kind, |name| (name == "HOME").then(|| "/home/ada".into())).expect("it has some")
}

fn read(kind: HarnessKind, text: &str) -> Vec<UsageReport> {
    let mut reader = files(kind).reader();
    for line in text.lines() {
        reader.read(line.as_bytes());
    }
    reader.reports()
}

fn tokens(input: u64, cached: u64, output: u64, reasoning: u64) -> UsageTotals {
    UsageTotals {
        input_tokens: Some(input),
        cached_tokens: Some(cached),
        output_tokens: Some(output),
        reasoning_tokens: Some(reasoning),
        ..UsageTotals::default()
    }
}

#[test]
fn claude_tells_of_each_message_once_however_many_lines_it_takes() {
    for attempt in CLAUDE {
        let totals = UsageTotals {
            turns: Some(3),
            ..tokens(5_000, 500, 180, 0)
        };
        let span = UsageSpan::SoFar;
        assert_eq!(read(HarnessKind::Claude, attempt), [UsageReport { span, totals }]);
    }
}

/// Its lines without those that older versions do not write.
fn as_before_0_171(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("token_usage_record"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn codex_tells_what_the_conversation_used_and_each_request_of_this_attempt() {
    let so_far = |tokens| UsageReport {
        span: UsageSpan::SoFar,
        totals: UsageTotals {
            turns: Some(3),
            ..tokens
        },
    };
    let expected = [tokens(5_000, 500, 180, 15), tokens(10_000, 1_000, 360, 30)];
    for (attempt, totals) in CODEX.into_iter().zip(expected) {
        let span = UsageSpan::Session;
        let conversation = UsageReport { span, totals };
        assert_eq!(
            read(HarnessKind::Codex, attempt),
            [conversation, so_far(expected[0])]
        );
        assert_eq!(
            read(HarnessKind::Codex, &as_before_0_171(attempt)),
            [conversation, so_far(UsageTotals::default())]
        );
    }
}

/// What the request used whose tool was killed is in no number that Codex tells of the whole conversation, then or later.
#[test]
fn a_request_whose_tool_was_killed_is_counted_and_the_others_once() {
    let mut before = UsageTotals::default();
    let mut sum = UsageTotals::default();
    for (attempt, requests) in CODEX_KILLED.into_iter().zip([2, 1]) {
        let mut seen = Seen::default();
        for report in read(HarnessKind::Codex, attempt) {
            seen.observe(&Event::Usage(report));
        }
        let used = seen.usage(&before);
        assert_eq!(used.turns, Some(requests));
        sum.add(&used);
        before.update(&seen.session_usage());
    }
    assert_eq!(before.input_tokens, Some(1_100 + 3_300), "what it tells");
    let all = UsageTotals {
        turns: Some(3),
        ..tokens(1_100 + 2_200 + 3_300, 600, 180, 18)
    };
    assert_eq!(sum, all);
}

#[test]
fn what_is_told_again_counts_once_and_what_is_damaged_not_at_all() {
    for (kind, text) in [(HarnessKind::Claude, CLAUDE[0]), (HarnessKind::Codex, CODEX[0])] {
        let whole = read(kind, text);
        let twice: String = text
            .lines()
            .flat_map(|line| [line, "\n", line, "\n", "{\"type\":", "\n"])
            .collect();
        assert_eq!(read(kind, &twice), whole);
        assert_eq!(
            read(
                kind,
                "null\n[]\n{}\n{\"type\":\"assistant\",\"message\":7}\n\0\u{1}"
            ),
            []
        );
        // Every place where a line can have been cut, and every byte that can have been lost.
        let last = text
            .lines()
            .find(|line| line.contains("_tokens"))
            .expect("there is one");
        for at in 0..last.len() {
            let mut reader = files(kind).reader();
            reader.read(&last.as_bytes()[..at]);
            assert_eq!(reader.reports(), [], "{at}");
        }
    }
}

#[test]
fn a_message_of_long_ago_is_counted_still() {
    let mut reader = files(HarnessKind::Claude).reader();
    let messages = 3 * MESSAGES_KNOWN as u64;
    for message in 0..messages {
        let line = format!(
            r#"{{"type":"assistant","message":{{"id":"m{message}","usage":{{"input_tokens":2,"output_tokens":1}}}}}}"#
        );
        reader.read(line.as_bytes());
    }
    let [report] = reader.reports()[..] else {
        panic!("one report")
    };
    let totals = report.totals;
    assert_eq!(
        (totals.turns, totals.input_tokens, totals.output_tokens),
        (Some(messages), Some(2 * messages), Some(messages))
    );
}

#[test]
fn a_place_is_where_the_environment_says_and_a_name_fits_one_conversation() {
    let place = |kind, own: Option<&str>| {
        let files = SessionFiles::of(kind, |name| match name {
            "HOME" => Some("/home/ada".into()),
            _ => own.map(OsString::from),
        });
        files.map(|files| files.root().display().to_string())
    };
    for (kind, usual, moved) in [
        (
            HarnessKind::Claude,
            "/home/ada/.claude/projects",
            "/else/projects",
        ),
        (HarnessKind::Codex, "/home/ada/.codex/sessions", "/else/sessions"),
        (HarnessKind::Pi, "/home/ada/.pi/agent/sessions", "/else/sessions"),
    ] {
        assert_eq!(place(kind, None).as_deref(), Some(usual));
        assert_eq!(place(kind, Some("")).as_deref(), Some(usual));
        assert_eq!(place(kind, Some("/else")).as_deref(), Some(moved));
        assert_eq!(SessionFiles::of(kind, |_| None), None);
    }
    assert_eq!(place(HarnessKind::Opencode, None), None);
    let claude = format!("{SESSION}.jsonl");
    let codex = format!("rollout-2026-12-01T03-29-10-{SESSION}.jsonl");
    let pi = format!("2026-12-01T03-29-10-000Z_{SESSION}.jsonl");
    for (kind, own) in [
        (HarnessKind::Claude, &claude),
        (HarnessKind::Codex, &codex),
        (HarnessKind::Pi, &pi),
    ] {
        for name in [&claude, &codex, &pi] {
            assert_eq!(
                files(kind).holds(OsStr::new(name), SESSION),
                name == own,
                "{kind} {name}"
            );
        }
        assert!(!files(kind).holds(OsStr::new(".jsonl"), ""));
        assert!(!files(kind).holds(OsStr::new("x"), SESSION));
    }
}
