//! In which order is decided why a task failed: what is told in fields made for it, before what was tried again, before how the process
//! ended. The words of the model and of its tools decide nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cs_harness::{
    AgentConfig, AskAgain, Event, Harness, HarnessKind, Line, Matter, ProcessEnd, Seen, TaskEnd, Trouble,
    adapter, stop_now,
};
use cs_model::FailureClass as Class;
use proptest::prelude::*;
use serde_json::json;

/// The agents that speak a language of their own, and the bridge that speaks for the others.
const NATIVE: [HarnessKind; 5] = [
    HarnessKind::Claude,
    HarnessKind::Codex,
    HarnessKind::Opencode,
    HarnessKind::Pi,
    HarnessKind::Acp,
];

/// Words that would be a failure of every class, if anybody said them who is to be believed.
const PROSE: [&str; 8] = [
    "API Error: 401 invalid api key. Please run /login",
    "insufficient_quota: your credit balance is too low",
    "unexpected status 429: rate limit reached, try again in 3 hours",
    "You've hit your usage limit|1735689600",
    "529 overloaded",
    "prompt is too long: context window",
    "{\"error\":{\"code\":402,\"message\":\"billing\"}}",
    "model_not_found: the model does not exist",
];

fn harness(kind: HarnessKind) -> Arc<dyn Harness> {
    adapter(&AgentConfig::new("agent", vec!["agent".to_owned()], kind).unwrap())
}

fn fold(events: &[Event]) -> Seen {
    let mut seen = Seen::default();
    events.iter().for_each(|event| seen.observe(event));
    seen
}

fn trouble(class: Class, status: u16, again: Option<AskAgain>) -> Trouble {
    Trouble {
        class,
        status: Some(status),
        again,
        said: String::new(),
        matter: Matter::Provider,
    }
}

/// What ended it: the class and the stated time; `None` for what is no failure.
fn failure(task: &TaskEnd) -> Option<(Class, Option<AskAgain>)> {
    match task {
        TaskEnd::Failed { class, again, .. } => Some((*class, *again)),
        TaskEnd::Answered { .. } | TaskEnd::Asked { .. } | TaskEnd::OfferedLanding { .. } => None,
    }
}

fn prose() -> impl Strategy<Value = Event> {
    let text = || {
        let words = prop::sample::select(PROSE.to_vec()).prop_map(str::to_owned);
        prop_oneof![words, ".{0,40}"]
    };
    let call = || "1".to_owned();
    prop_oneof![
        text().prop_map(|text| Event::Said { text }),
        text().prop_map(|text| Event::Final { text }),
        text().prop_map(|text| Event::Progress { text }),
        text().prop_map(|text| Event::Text {
            text: format!("{text}\n")
        }),
        text().prop_map(move |about| Event::ToolStart {
            call: call(),
            tool: "sh".to_owned(),
            about,
        }),
        any::<bool>().prop_map(move |ok| Event::ToolEnd { call: call(), ok }),
        text().prop_map(|body| Event::Unknown {
            kind: "odd".to_owned(),
            body,
        }),
    ]
}

fn told() -> impl Strategy<Value = Event> {
    let classes = [
        (Class::Authentication, 401),
        (Class::Credit, 402),
        (Class::RateLimit, 429),
        (Class::Overloaded, 529),
        (Class::ContextOverflow, 400),
        (Class::Agent, 418),
    ];
    let trouble =
        prop::sample::select(classes.to_vec()).prop_map(|(class, status)| trouble(class, status, None));
    prop_oneof![
        trouble.clone().prop_map(Event::Retry),
        trouble.prop_map(Event::Failed),
    ]
}

fn mix() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(prop_oneof![prose(), told()], 0..12)
}

fn end() -> impl Strategy<Value = ProcessEnd> {
    prop_oneof![
        Just(ProcessEnd::Exited(0)),
        Just(ProcessEnd::Exited(1)),
        Just(ProcessEnd::Signalled(9)),
        Just(ProcessEnd::Unknown),
    ]
}

/// The same with other words.
fn in_other_words(event: &Event) -> Event {
    let other = || "other words".to_owned();
    match event {
        Event::Said { .. } => Event::Said { text: other() },
        Event::Final { .. } => Event::Final { text: other() },
        Event::Progress { .. } => Event::Progress { text: other() },
        Event::Text { .. } => Event::Text { text: other() + "\n" },
        Event::Unknown { kind, .. } => Event::Unknown {
            kind: kind.clone(),
            body: other(),
        },
        Event::ToolStart { call, tool, .. } => Event::ToolStart {
            call: call.clone(),
            tool: tool.clone(),
            about: other(),
        },
        told => told.clone(),
    }
}

proptest! {
    #[test]
    fn no_words_of_the_model_and_of_its_tools_change_why_a_task_failed(
        events in mix(),
        end in end(),
        kind in prop::sample::select(NATIVE.to_vec()),
    ) {
        let harness = harness(kind);
        let others: Vec<Event> = events.iter().map(in_other_words).collect();
        let of = |events: &[Event]| failure(&harness.outcome(&end, &fold(events)).task);
        prop_assert_eq!(of(&events), of(&others), "{:?}", events);
        let stops = |events: &[Event]| stop_now(&fold(events), Duration::from_secs(60));
        prop_assert_eq!(stops(&events), stops(&others), "{:?}", events);
    }

    /// What was told last and not taken back since decides: a failure before what was tried again, that before the end of the process.
    #[test]
    fn a_failure_that_was_told_goes_before_a_try_and_a_try_before_the_end_of_the_process(
        before in mix(),
        last in prop::collection::vec(told(), 0..6),
        end in end(),
        kind in prop::sample::select(NATIVE.to_vec()),
    ) {
        let harness = harness(kind);
        // The agent went on: what stood in its way is behind it.
        let went_on = Event::Said { text: "on".to_owned() };
        let events = [before, vec![went_on.clone()], last.clone()].concat();
        let class = |events: &[Event]| failure(&harness.outcome(&end, &fold(events)).task).unwrap().0;
        let from_the_last_try = last.iter().rposition(|event| matches!(event, Event::Retry(_))).unwrap_or(0);
        let counting = last[from_the_last_try..].iter().rev().find_map(|event| match event {
            Event::Failed(trouble) | Event::Retry(trouble) => Some(trouble.class),
            _ => None,
        });
        // Without any, the process tells alone.
        let expected = counting.unwrap_or_else(|| class(&[went_on]));
        prop_assert_eq!(class(&events), expected, "{:?}", events);
        // Nor does another end of the process change it.
        if counting.is_some() {
            let crashed = harness.outcome(&ProcessEnd::Signalled(11), &fold(&events)).task;
            prop_assert_eq!(failure(&crashed).unwrap().0, expected);
        }
    }

    /// A try that cannot help ends an agent at once, whatever went before; one that can does not.
    #[test]
    fn the_first_try_that_cannot_help_acts(before in prop::collection::vec(prose(), 0..6), ms in 0..7_200_000_u64) {
        let longest = Duration::from_secs(60);
        for class in [Class::Authentication, Class::Credit, Class::RateLimit, Class::Overloaded, Class::Infrastructure] {
            let retry = Event::Retry(trouble(class, 500, Some(AskAgain::AfterMs(ms))));
            let stopped = stop_now(&fold(&[before.clone(), vec![retry]].concat()), longest);
            let cannot_help = matches!(class, Class::Authentication | Class::Credit) || ms > 60_000;
            prop_assert_eq!(stopped.map(|trouble| trouble.class), cannot_help.then_some(class));
        }
    }
}

/// What an agent of each kind prints when its model says something, and when its tool prints something and fails.
fn said_by_model_and_tool(kind: HarnessKind, words: &str) -> Vec<String> {
    let lines = match kind {
        HarnessKind::Claude => vec![
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}),
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": "1", "is_error": true, "content": words}]}}),
        ],
        HarnessKind::Codex => vec![
            json!({"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": words}}),
            json!({"type": "item.completed", "item": {"id": "2", "type": "reasoning", "text": words}}),
            json!({"type": "item.completed", "item": {"id": "3", "type": "command_execution", "command": words,
                "aggregated_output": words, "exit_code": 1, "status": "failed"}}),
        ],
        HarnessKind::Opencode => vec![
            json!({"type": "text", "sessionID": "s", "part": {"type": "text", "text": words}}),
            json!({"type": "tool_use", "sessionID": "s", "part": {"type": "tool", "tool": "bash", "callID": "1",
                "state": {"status": "error", "error": words, "output": words, "input": {"command": words}}}}),
        ],
        HarnessKind::Pi => vec![
            json!({"type": "message_end", "message": {"role": "assistant", "stopReason": "toolUse",
                "content": [{"type": "text", "text": words}, {"type": "thinking", "thinking": words}]}}),
            json!({"type": "tool_execution_start", "toolCallId": "1", "toolName": "bash", "args": {"command": words}}),
            json!({"type": "tool_execution_end", "toolCallId": "1", "toolName": "bash", "isError": true,
                "result": {"content": [{"type": "text", "text": words}]}}),
        ],
        HarnessKind::Acp => vec![json!({"type": "said", "text": words})],
        HarnessKind::Plain | HarnessKind::JsonLines => Vec::new(),
    };
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_line_of_the_model_or_of_a_tool_tells_of_no_trouble() {
    for kind in NATIVE {
        let harness = harness(kind);
        for words in PROSE {
            let lines = said_by_model_and_tool(kind, words);
            let lines = lines.iter().map(|line| Line {
                bytes: line.as_bytes(),
                dropped_bytes: 0,
            });
            let events: Vec<Event> = lines.flat_map(|line| harness.events(&line)).collect();
            assert!(!events.is_empty(), "{kind}");
            let is_trouble = |event: &Event| {
                matches!(
                    event,
                    Event::Retry(_) | Event::Failed(_) | Event::End { .. } | Event::Unknown { .. }
                )
            };
            assert!(!events.iter().any(is_trouble), "{kind}: {words}: {events:?}");
            let ended = failure(&harness.outcome(&ProcessEnd::Exited(1), &fold(&events)).task);
            assert_eq!(ended, Some((Class::Agent, None)), "{kind}: {words}");
        }
    }
}

/// It would crash for ever.
#[test]
fn a_crash_is_the_agents_own_fault_and_a_signal_of_somebody_else_an_interruption() {
    for (kind, signal) in NATIVE
        .into_iter()
        .flat_map(|kind| (1..=31).map(move |signal| (kind, signal)))
    {
        let class = match signal {
            1 | 2 | 9 | 15 => Class::Interrupted,
            _ => Class::Agent,
        };
        for end in [ProcessEnd::Signalled(signal), ProcessEnd::Exited(128 + signal)] {
            let task = harness(kind).outcome(&end, &Seen::default()).task;
            assert_eq!(failure(&task), Some((class, None)), "{kind}: {end:?}");
        }
    }
}

/// An agent that cuts a text inside a character writes half of it.
#[test]
fn half_a_pair_of_surrogates_costs_no_line() {
    let words = "cut \u{fffd} here";
    let answers = [
        (
            HarnessKind::Claude,
            json!({"type": "result", "subtype": "success", "session_id": "s", "result": words}),
        ),
        (HarnessKind::JsonLines, json!({"type": "final", "text": words})),
    ];
    let answers = answers.map(|(kind, line)| (kind, format!("{line}\n")));
    let said = NATIVE.map(|kind| {
        said_by_model_and_tool(kind, words)
            .into_iter()
            .map(move |line| (kind, line))
    });
    for (kind, line) in said.into_iter().flatten().chain(answers) {
        let events = |line: &str| {
            harness(kind).events(&Line {
                bytes: line.as_bytes(),
                dropped_bytes: 0,
            })
        };
        let cut = line.replace('\u{fffd}', r"\ud83d");
        assert_ne!(cut, line);
        assert_eq!(events(&cut), events(&line), "{kind}: {cut}");
    }
}

/// Recordings in which an agent tells that it tries again by itself: whose, and the class.
const TRYING: [(HarnessKind, &str, Class); 6] = [
    (HarnessKind::Claude, "claude/auth", Class::Authentication),
    (HarnessKind::Claude, "claude/overloaded", Class::Overloaded),
    (HarnessKind::Codex, "codex/auth", Class::Authentication),
    (HarnessKind::Codex, "codex/payment", Class::Credit),
    (HarnessKind::Pi, "pi-0.73/rate", Class::RateLimit),
    (HarnessKind::Pi, "pi-0.73/quota", Class::Credit),
];

#[test]
fn a_recorded_agent_is_stopped_at_the_first_try_that_cannot_help() {
    for (kind, name, class) in TRYING {
        let harness = harness(kind);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/captures/{name}.jsonl"));
        let output = fs::read(file).unwrap();
        let mut seen = Seen::default();
        let first = output.split_inclusive(|byte| *byte == b'\n').find_map(|bytes| {
            let line = Line {
                bytes,
                dropped_bytes: 0,
            };
            let events = harness.events(&line);
            events.iter().for_each(|event| seen.observe(event));
            events
                .iter()
                .any(|event| matches!(event, Event::Retry(_)))
                .then(|| seen.clone())
        });
        let stopped = first.and_then(|seen| stop_now(&seen, Duration::from_secs(60)));
        let expected = matches!(class, Class::Authentication | Class::Credit).then_some(class);
        assert_eq!(stopped.map(|trouble| trouble.class), expected, "{name}");
    }
}

/// The error fields of gemini and qwen, recorded from what they print with `--output-format stream-json`. They are led over ACP, whose
/// errors hold the same messages.
#[test]
fn an_error_of_gemini_and_of_qwen_has_its_class() {
    let table = include_str!("captures/errors.table");
    for row in table.lines() {
        let (case, rest) = row.split_once(" | ").unwrap();
        let (expected, message) = rest.split_once(" | ").unwrap();
        let message: String = serde_json::from_str(message).unwrap();
        let found = Trouble::of_error(None, None, &message);
        let status = found
            .status
            .map(|status| format!(" {status}"))
            .unwrap_or_default();
        assert_eq!(format!("{}{status}", found.class), expected, "{case}: {message}");
    }
}
