//! The harness `command`, from configuration and bytes to the outcome.

#[path = "recorded/read.rs"]
mod read;

use std::sync::Arc;

use cs_harness::{
    AgentConfig, Event, FailureCause, GivenAnswer, Harness, HarnessKind, ProcessEnd, RunFacts, Seen, TaskEnd,
    UsageReport, UsageTotals, Wake, adapter,
};
use cs_model::FailureClass;
use proptest::prelude::*;

fn harness(mode: HarnessKind) -> Arc<dyn Harness> {
    let argv = vec!["agent".to_owned(), "--flag".to_owned()];
    adapter(&AgentConfig::new("mine", argv, mode).expect("a legal configuration"))
}

fn facts() -> RunFacts {
    RunFacts {
        card: "c7".to_owned(),
        run: "r1".to_owned(),
        epoch: 2,
        wake: Wake::Answer,
        prompt: "say \"hi\"\nplease".to_owned(),
        session: Some("s-1".to_owned()),
        answer: Some(GivenAnswer {
            question: "Red?".to_owned(),
            text: "Blue".to_owned(),
        }),
        ..RunFacts::default()
    }
}

fn events(mode: HarnessKind, output: &[u8]) -> Vec<Event> {
    read::events(harness(mode).as_ref(), output)
}

fn task(mode: HarnessKind, output: &[u8], end: &ProcessEnd) -> TaskEnd {
    let mut seen = Seen::default();
    for event in events(mode, output) {
        seen.observe(&event);
    }
    harness(mode).outcome(end, &seen).task
}

fn one_event(line: &str) -> Event {
    let events = events(HarnessKind::JsonLines, format!("{line}\n").as_bytes());
    <[Event; 1]>::try_from(events).expect("one event")[0].clone()
}

fn answered(text: &str) -> TaskEnd {
    TaskEnd::Answered {
        text: text.to_owned(),
    }
}

#[track_caller]
fn check_failed(task: &TaskEnd, expected: (FailureClass, FailureCause)) {
    let TaskEnd::Failed {
        class, cause, public, ..
    } = task
    else {
        panic!("{task:?} is no failure")
    };
    assert_eq!((*class, *cause), expected);
    assert!(!public.contains('/'), "{public}");
}

fn spawn_failed() -> ProcessEnd {
    ProcessEnd::SpawnFailed {
        text: "/home/me/agent: No such file or directory".to_owned(),
    }
}

#[test]
fn a_plain_agent_reads_its_prompt_and_nothing_else() {
    let spec = harness(HarnessKind::Plain).launch(&facts());
    assert_eq!(spec.argv, ["agent", "--flag"]);
    let stdin = String::from_utf8(spec.stdin).unwrap();
    assert_eq!(stdin, "say \"hi\"\nplease");
    assert_eq!(spec.env["CS_PANEL_CARD"], "c7");
    assert!(spec.files.is_empty());
}

#[test]
fn a_json_lines_agent_reads_one_line() {
    let spec = harness(HarnessKind::JsonLines).launch(&facts());
    let stdin = String::from_utf8(spec.stdin).unwrap();
    let expected = concat!(
        r#"{"type":"start","protocol":1,"card":"c7","run":"r1","epoch":2,"wake":"answer","prompt":"say \"hi\"\nplease","#,
        r#""session":"s-1","answer":{"question":"Red?","text":"Blue"}}"#,
        "\n"
    );
    assert_eq!(stdin, expected);
    assert_eq!(stdin.matches('\n').count(), 1);
    let fresh = RunFacts {
        wake: Wake::First,
        session: None,
        answer: None,
        ..facts()
    };
    let stdin = String::from_utf8(harness(HarnessKind::JsonLines).launch(&fresh).stdin).unwrap();
    assert!(stdin.ends_with("\"session\":null,\"answer\":null}\n"), "{stdin}");
}

#[test]
fn each_message_becomes_its_event() {
    let s = str::to_owned;
    let offer = |message: Option<&str>| Event::OfferLanding {
        summary: s("done"),
        message: message.map(s),
    };
    let cases = [
        (
            r#"{"type":"ask","question":"Red?"}"#,
            Event::Ask {
                question: s("Red?"),
                choices: vec![],
            },
        ),
        (
            r#"{"type":"ask","question":"Red?","choices":["yes","no"],"new":1}"#,
            Event::Ask {
                question: s("Red?"),
                choices: vec![s("yes"), s("no")],
            },
        ),
        (r#"{"type":"offer_landing","summary":"done"}"#, offer(None)),
        (
            r#"{"type":"offer_landing","summary":"done","message":"Add it"}"#,
            offer(Some("Add it")),
        ),
        (
            r#"{"type":"progress","text":"half way"}"#,
            Event::Progress { text: s("half way") },
        ),
        (
            r#"{"type":"session","id":"abc"}"#,
            Event::Session { id: s("abc") },
        ),
        (
            r#"  {"type":"final","text":"ok"}  "#,
            Event::Final { text: s("ok") },
        ),
        (
            r#"{"type":"usage","turns":3,"cost_usd":0.0125}"#,
            Event::Usage(UsageReport {
                totals: UsageTotals {
                    turns: Some(3),
                    cost_micro_usd: Some(12_500),
                    ..UsageTotals::default()
                },
                ..UsageReport::default()
            }),
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(one_event(line), expected, "{line}");
    }
}

#[test]
fn what_is_no_message_is_kept_as_text() {
    for line in [
        "hello",
        "",
        "{\"type\":\"final\"",
        "[1]",
        "{\"text\":\"x\"}",
        "{\"type\":7}",
        "null",
    ] {
        assert_eq!(
            one_event(line),
            Event::Text {
                text: format!("{line}\n")
            }
        );
    }
    let bad = events(HarnessKind::JsonLines, b"a\xffb\n");
    assert_eq!(
        bad,
        [Event::Text {
            text: "a\u{fffd}b\n".to_owned()
        }]
    );
}

#[test]
fn unknown_and_malformed_messages_are_kept_and_counted() {
    let lines = [
        r#"{"type":"dance","steps":3}"#,
        r#"{"type":"ask"}"#,
        r#"{"type":"ask","question":"  "}"#,
        r#"{"type":"final","text":7}"#,
        r#"{"type":"session","id":""}"#,
        r#"{"type":"usage","turns":-1}"#,
        r#"{"type":"usage","cost_usd":-0.5}"#,
    ];
    let mut seen = Seen::default();
    for line in lines {
        let event = one_event(line);
        let Event::Unknown { body, .. } = &event else {
            panic!("{line} became {event:?}")
        };
        assert_eq!(body, line);
        seen.observe(&event);
    }
    assert_eq!(seen.unknown_count(), lines.len() as u64);
}

#[test]
fn the_end_of_a_plain_agent_decides() {
    let plain = |end: &ProcessEnd| task(HarnessKind::Plain, b"\nthe\n\nanswer\n\n", end);
    assert_eq!(plain(&ProcessEnd::Exited(0)), answered("the\n\nanswer"));
    assert_eq!(
        task(HarnessKind::Plain, b"", &ProcessEnd::Exited(0)),
        answered("")
    );
    assert_eq!(
        task(HarnessKind::Plain, b"half", &ProcessEnd::Exited(0)),
        answered("half")
    );
    check_failed(
        &plain(&ProcessEnd::Exited(3)),
        (FailureClass::Agent, FailureCause::ExitCode(3)),
    );
    check_failed(
        &plain(&ProcessEnd::Signalled(9)),
        (FailureClass::Agent, FailureCause::Signal(9)),
    );
    check_failed(
        &plain(&spawn_failed()),
        (FailureClass::InvalidRequest, FailureCause::NotStarted),
    );
    check_failed(
        &plain(&ProcessEnd::Unknown),
        (FailureClass::Interrupted, FailureCause::EndNotSeen),
    );
}

#[test]
fn messages_in_the_output_of_a_plain_agent_are_only_text() {
    let output = b"{\"type\":\"ask\",\"question\":\"Red?\"}\n";
    let expected = answered(r#"{"type":"ask","question":"Red?"}"#);
    assert_eq!(task(HarnessKind::Plain, output, &ProcessEnd::Exited(0)), expected);
}

#[test]
fn a_json_lines_agent_must_end_with_a_final_message() {
    let json = |output: &[u8], end: &ProcessEnd| task(HarnessKind::JsonLines, output, end);
    let ok = b"thinking\n{\"type\":\"final\",\"text\":\"ok\"}\n";
    assert_eq!(json(ok, &ProcessEnd::Exited(0)), answered("ok"));
    assert_eq!(json(&ok[..ok.len() - 1], &ProcessEnd::Exited(0)), answered("ok"));
    assert_eq!(json(ok, &ProcessEnd::Signalled(15)), answered("ok"));
    assert_eq!(json(ok, &ProcessEnd::Unknown), answered("ok"));
    check_failed(
        &json(ok, &ProcessEnd::Exited(1)),
        (FailureClass::Agent, FailureCause::ExitCode(1)),
    );
    check_failed(
        &json(b"thinking\n", &ProcessEnd::Exited(0)),
        (FailureClass::Agent, FailureCause::NoFinal),
    );
    check_failed(
        &json(b"", &ProcessEnd::Exited(0)),
        (FailureClass::Agent, FailureCause::NoFinal),
    );
    check_failed(
        &json(b"", &ProcessEnd::Signalled(9)),
        (FailureClass::Agent, FailureCause::Signal(9)),
    );
    check_failed(
        &json(b"", &spawn_failed()),
        (FailureClass::InvalidRequest, FailureCause::NotStarted),
    );
    check_failed(
        &json(b"", &ProcessEnd::Unknown),
        (FailureClass::Interrupted, FailureCause::EndNotSeen),
    );
}

#[test]
fn half_a_last_line_is_never_success() {
    let half = (FailureClass::Agent, FailureCause::HalfLine);
    let only = br#"{"type":"final","text":"o"#;
    check_failed(&task(HarnessKind::JsonLines, only, &ProcessEnd::Exited(0)), half);
    let after = b"{\"type\":\"final\",\"text\":\"ok\"}\n{\"type\":\"ask\",\"que";
    check_failed(&task(HarnessKind::JsonLines, after, &ProcessEnd::Exited(0)), half);
}

#[test]
fn st_4_a_question_or_an_offer_wins_over_every_end() {
    let ask = b"{\"type\":\"ask\",\"question\":\"Red?\",\"choices\":[\"y\"]}\nerror: broken pi";
    let offer = b"{\"type\":\"offer_landing\",\"summary\":\"done\"}\n{\"type\":\"final\",\"text\":\"ok\"}\n";
    for end in [
        ProcessEnd::Exited(0),
        ProcessEnd::Exited(1),
        ProcessEnd::Signalled(15),
        ProcessEnd::Unknown,
    ] {
        let expected = TaskEnd::Asked {
            question: "Red?".to_owned(),
            choices: vec!["y".to_owned()],
            text: None,
        };
        assert_eq!(task(HarnessKind::JsonLines, ask, &end), expected);
        let expected = TaskEnd::OfferedLanding {
            summary: "done".to_owned(),
            message: None,
            text: Some("ok".to_owned()),
        };
        assert_eq!(task(HarnessKind::JsonLines, offer, &end), expected);
    }
}

#[test]
fn the_last_of_a_question_and_an_offer_stands() {
    let ask = r#"{"type":"ask","question":"Red?"}"#;
    let offer = r#"{"type":"offer_landing","summary":"done"}"#;
    let end = |lines: [&str; 2]| {
        task(
            HarnessKind::JsonLines,
            lines.join("\n").as_bytes(),
            &ProcessEnd::Exited(0),
        )
    };
    assert!(matches!(end([ask, offer]), TaskEnd::OfferedLanding { .. }));
    assert!(matches!(end([offer, ask]), TaskEnd::Asked { .. }));
}

proptest! {
    #[test]
    fn any_bytes_give_an_outcome_and_the_same_one_from_the_transcript(
        output: Vec<u8>, lines in proptest::collection::vec("\\PC{0,30}|\\{\"type\":\"(ask|final)\",\"\\PC{0,9}", 0..5),
        code: i32,
    ) {
        for bytes in [output, lines.join("\n").into_bytes()] {
            for mode in [HarnessKind::Plain, HarnessKind::JsonLines] {
                let (mut live, mut replayed) = (Seen::default(), Seen::default());
                for event in events(mode, &bytes) {
                    live.observe(&event);
                    let wire = serde_json::to_string(&event).unwrap();
                    replayed.observe(&serde_json::from_str(&wire).unwrap());
                }
                prop_assert_eq!(&live, &replayed);
                let _ = harness(mode).outcome(&ProcessEnd::Exited(code), &live);
            }
        }
    }
}
