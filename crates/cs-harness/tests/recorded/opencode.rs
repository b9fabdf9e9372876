use cs_harness::{Event, FailureCause, HarnessKind, ProcessEnd, TaskEnd};
use cs_model::FailureClass::{
    Agent, Authentication, Credit, Infrastructure, Interrupted, Overloaded, RateLimit,
};
use proptest::prelude::*;

use super::table::{Row, Task, all_lines, broken_line, check, check_any_line, fold, harness_of, path};
use Task::{Answered, Ended, Told};

const KIND: HarnessKind = HarnessKind::Opencode;
const FOLDER: &str = "opencode";

/// One step of the scripted model, and two of them.
const ONE: Option<(u64, u64, u64, u64, Option<u64>, u64)> = Some((1, 1000, 0, 50, Some(0), 3750));
const TWO: Option<(u64, u64, u64, u64, Option<u64>, u64)> = Some((2, 2000, 0, 100, Some(0), 7500));

fn ses(session: &'static str) -> Option<&'static str> {
    Some(session)
}

#[test]
#[rustfmt::skip]
fn every_recorded_run_of_opencode_comes_to_what_it_was() {
    let row = |case, session, task, used| Row { case, session, task, used };
    check(KIND, FOLDER, &[
        row("auth", ses("ses_dd8c0c71bffeLoVyqKo12r9XlR"), Told(Authentication, Some(401), None), None),
        row("badmodel-name", ses("ses_dd8992eebffeu0VTu7Wj3ryZR8"), Told(Agent, None, None), None),
        row("cut", ses("ses_dd8b19333ffe8yU4tzi8VMNzGG"), Told(Infrastructure, None, None), None),
        row("cut_once", ses("ses_dd8ba18dcffeGeKLV92MCAPJdV"), Answered("Whole after one cut."), ONE),
        row("empty", ses("ses_dd8b68294ffex2Ff7o8YodxROa"), Answered(""), ONE),
        row("forbidden", ses("ses_dd8c08ec7ffe2I6rEy9BjTEmyX"), Told(Authentication, Some(403), None), None),
        row("html502", ses("ses_dd8bb5ee5ffeiu24R89EN50NJU"), Told(Overloaded, Some(502), None), None),
        row("kill-SIGINT", ses("ses_dd8b1cad4ffeRJH31RJTJNQ1Lo"), Ended(Interrupted, FailureCause::Signal(2)), None),
        row("kill-SIGKILL", ses("ses_dd8b17b51ffeWMY0Hu7RqmWDAi"), Ended(Interrupted, FailureCause::Signal(9)), None),
        row("kill-SIGTERM", ses("ses_dd8b21ec0ffeYeXRQ2pGpkCqOi"), Ended(Interrupted, FailureCause::Signal(15)), None),
        row("length", ses("ses_dd8b6c7e5ffeVBXxKaQSJX4yw5"), Answered("Cut by the output limit"), ONE),
        row("mcp", ses("ses_dd8c1b9aaffe3cB1FE0VbsWcLR"), Answered("The tool answered."), TWO),
        row("mcp_404", ses("ses_dd8c13986ffe45W1q7EcMTqbSt"), Answered("No tools, but done."), ONE),
        row("overloaded", ses("ses_dd8b53bf2ffeJN4AdqzxADsjaC"), Told(Overloaded, Some(503), None), None),
        row("quota", ses("ses_dd8bfbe33ffe2QwmxkHZC5kpWk"), Told(Credit, Some(429), None), None),
        row("rate", ses("ses_dd8b5a68affeoEAyMgUvrxzkGT"), Told(RateLimit, Some(429), Some(3)), None),
        row("refused", ses("ses_dd8992364ffeyU0yCAGsUevBK7"), Told(Infrastructure, None, None), None),
        row("resume-1", ses("ses_dd8ae3017ffedaTr4w0a1y1JVx"), Answered("First turn answer."), ONE),
        row("resume-2", ses("ses_dd8ae3017ffedaTr4w0a1y1JVx"), Answered("Second turn answer."), ONE),
        row("resume-bad", None, Ended(Agent, FailureCause::NoSuchSession), None),
        row("rmcp-18090", ses("ses_dd8bbfb4dffeCMt01uz1sl7eob"), Answered("The tool answered."), TWO),
        row("rmcp-18091", ses("ses_dd8bb83f7ffeD2h7llzv67LgqW"), Answered("The tool answered."), TWO),
        row("server_error", ses("ses_dd8b2bab7ffetb8AgTiwHKfp8H"), Told(Overloaded, Some(500), None), None),
        row("stdin-open", None, Ended(Interrupted, FailureCause::Signal(15)), None),
        row("stream_overloaded", ses("ses_dd8b07cd9ffeZeMmRBEz9A6XR7"), Told(Overloaded, None, None), None),
        row("stream_rate", ses("ses_dd8af541cffek6LjUeQu698cDB"), Told(RateLimit, None, Some(2)), None),
        row("text", ses("ses_dd8c231d9ffeo0epM1WS2PeZj3"), Answered("PONG: the final answer."), Some((1, 1500, 300, 42, Some(7), 4320))),
        row("tool", ses("ses_dd8c1fbb8ffeMf4d76qS2iUCrX"), Answered("Done: both files are there."), Some((3, 4900, 1200, 100, Some(0), 12960))),
        row("toolfail", ses("ses_dd8b6034cffegzXMcHDlRqPE5c"), Answered("The command failed."), TWO),
        row("unavailable", ses("ses_dd8b4082fffeNKfPhN3ILCzQek"), Told(Overloaded, Some(503), None), None),
        row("unknown_tool", ses("ses_dd8b5d2d8ffei8NPGtgzUXWVVG"), Answered("No such tool."), TWO),
        row("usage_limit", None, Ended(Interrupted, FailureCause::Signal(15)), None),
    ]);
}

fn recorded(case: &str) -> Vec<u8> {
    std::fs::read(path(FOLDER, case)).unwrap()
}

fn task_of(output: &[u8], end: &ProcessEnd) -> TaskEnd {
    let harness = harness_of(KIND);
    harness.outcome(end, &fold(&*harness, output)).task
}

#[test]
fn an_error_that_a_good_step_follows_is_a_success_whatever_the_exit_code() {
    for case in ["empty", "text"] {
        let output = [recorded("server_error"), recorded(case)].concat();
        for code in [0, 1] {
            let task = task_of(&output, &ProcessEnd::Exited(code));
            assert!(
                matches!(task, TaskEnd::Answered { .. }),
                "{case}, {code}: {task:?}"
            );
        }
    }
}

#[test]
fn an_error_after_a_good_step_is_a_failure() {
    let output = [recorded("text"), recorded("quota")].concat();
    let task = task_of(&output, &ProcessEnd::Exited(0));
    assert!(matches!(task, TaskEnd::Failed { class: Credit, .. }), "{task:?}");
}

#[test]
fn exit_code_zero_without_a_last_step_is_no_success() {
    let whole = recorded("tool");
    let ends: Vec<usize> = (1..whole.len()).filter(|at| whole[at - 1] == b'\n').collect();
    for end in ends {
        let task = task_of(&whole[..end], &ProcessEnd::Exited(0));
        assert!(
            matches!(
                task,
                TaskEnd::Failed {
                    class: Agent,
                    cause: FailureCause::NoEndMark,
                    ..
                }
            ),
            "{end}: {task:?}"
        );
    }
    let half = &whole[..whole.len() - 20];
    let task = task_of(half, &ProcessEnd::Exited(0));
    assert!(
        matches!(
            task,
            TaskEnd::Failed {
                cause: FailureCause::HalfLine,
                ..
            }
        ),
        "{task:?}"
    );
}

#[test]
fn a_process_that_stays_after_its_last_step_has_succeeded() {
    let task = task_of(&recorded("text"), &ProcessEnd::Signalled(15));
    assert!(matches!(task, TaskEnd::Answered { .. }), "{task:?}");
}

#[test]
fn tools_are_told_with_what_they_are_about_and_how_they_ended() {
    let harness = harness_of(KIND);
    let all = super::read::events(&*harness, &recorded("toolfail"));
    let tools: Vec<&Event> = all
        .iter()
        .filter(|event| matches!(event, Event::ToolStart { .. } | Event::ToolEnd { .. }))
        .collect();
    let [
        Event::ToolStart { tool, about, .. },
        Event::ToolEnd { ok: false, .. },
    ] = tools[..]
    else {
        panic!("{tools:?}");
    };
    assert_eq!((tool.as_str(), about.as_str()), ("bash", "echo oops >&2; exit 3"));
}

proptest! {
    #[test]
    fn no_line_panics(line in prop_oneof![
        broken_line(all_lines(FOLDER)),
        prop::collection::vec(any::<u8>(), 0..200),
    ]) {
        check_any_line(KIND, &line);
    }
}
