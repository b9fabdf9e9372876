use cs_harness::{FailureCause, HarnessKind, ProcessEnd, TaskEnd};
use cs_model::FailureClass::{
    Authentication, ContextOverflow, Credit, Infrastructure, Interrupted, Overloaded, RateLimit,
};
use proptest::prelude::*;

use super::read::events;
use super::table::{Row, Task, all_lines, broken_line, check, check_any_line, fold, harness_of, path};
use Task::{Answered, Ended, Told};

const KIND: HarnessKind = HarnessKind::Pi;
const OLD: &str = "pi-0.73";
const NEW: &str = "pi-1.6";

type Used = Option<(u64, u64, u64, u64, Option<u64>, u64)>;

const ONE_OLD: Used = Some((1, 1000, 0, 50, None, 3750));
const TWO_OLD: Used = Some((2, 2000, 0, 100, None, 7500));
const ONE: Used = Some((1, 1000, 0, 50, Some(0), 3750));
const TWO: Used = Some((2, 2000, 0, 100, Some(0), 7500));

#[test]
#[rustfmt::skip]
fn every_recorded_run_of_pi_0_73_comes_to_what_it_was() {
    let row = |case, session, task, used| Row { case, session: Some(session), task, used };
    check(KIND, OLD, &[
        row("auth", "01a2273e-228b-74d9-be65-02290815a4e5", Told(Authentication, Some(401), None), None),
        row("context", "01a2273e-7185-7719-a35a-3300342b73ee", Told(ContextOverflow, Some(400), None), None),
        row("cut", "01a22744-4dca-7279-a63e-58bded2e9956", Told(Infrastructure, None, None), None),
        row("cut_once", "01a22742-5111-72b3-90c3-36e61f3277ad", Answered("Whole after one cut."), ONE_OLD),
        row("empty", "01a22742-7501-749a-9d71-ed59a23628d2", Answered(""), ONE_OLD),
        row("endearly", "01a22742-61b1-72b1-9c17-1cfb6c6e2244", Answered("This text ends withou"), None),
        row("forbidden", "01a2273e-3578-734a-8da1-fbb75c50b894", Told(Authentication, Some(403), None), None),
        row("html502", "01a22741-fbe6-715e-bda9-7af92e081421", Told(Overloaded, Some(502), None), None),
        row("kill-SIGINT", "01a22750-d321-77c4-b644-0a0ec716325f", Ended(Interrupted, FailureCause::Signal(2)), ONE_OLD),
        row("kill-SIGKILL", "01a22751-014e-76a6-b0ef-e8ad5c6627c8", Ended(Interrupted, FailureCause::Signal(9)), ONE_OLD),
        row("kill-SIGTERM", "01a22750-be02-705e-ad84-326efb3c13d3", Ended(Interrupted, FailureCause::Signal(15)), ONE_OLD),
        row("length", "01a22742-6cc9-7445-b35a-905872f04eed", Answered("Cut by the output limit"), ONE_OLD),
        row("mcp", "01a2273d-e9db-75d7-9857-98648f64cd15", Answered("The tool answered."), ONE_OLD),
        row("mcp_404", "01a2273e-0a9b-735d-9eaf-cf86cb75005a", Answered("No tools, but done."), ONE_OLD),
        row("overloaded", "01a22743-4a6e-75e3-bc07-ebe414d6c7ac", Told(Overloaded, Some(503), None), None),
        row("payment", "01a2273e-e3c0-7633-a967-e1c0a1a557d6", Told(Credit, Some(402), None), None),
        row("quota", "01a2273e-86a8-7491-874d-d7ea9a940259", Told(Credit, Some(429), None), None),
        row("rate", "01a22742-a9a0-704f-a228-6946beaf44a5", Told(RateLimit, Some(429), Some(2)), None),
        row("server_error", "01a22743-f82e-73bf-ac58-e0291221092f", Told(Overloaded, Some(500), None), None),
        row("stream_overloaded", "01a22744-8fca-71b9-9610-86e17f23516e", Told(Overloaded, None, None), None),
        row("text", "01a2273d-caa2-7329-b89d-608d27331bfb", Answered("PONG: the final answer."), Some((1, 1500, 300, 42, None, 4320))),
        row("tool", "01a2273d-d99d-74f2-ba85-8c8022d68d56", Answered("Done: both files are there."), Some((3, 4900, 1200, 100, None, 12960))),
        row("toolfail", "01a22742-9775-7041-8cf3-3c840ef9a3fa", Answered("The command failed."), TWO_OLD),
        row("unavailable", "01a22743-a084-7357-8d6a-f0c5d4ab56d3", Told(Overloaded, Some(503), None), None),
        row("unknown_tool", "01a22742-a0b2-7746-9ade-cb25551c2a1a", Answered("No such tool."), TWO_OLD),
        row("usage_limit", "01a2273e-f267-744f-a324-eb2e7ad3dda8", Ended(Interrupted, FailureCause::Signal(15)), None),
    ]);
}

#[test]
#[rustfmt::skip]
fn every_recorded_run_of_pi_1_6_comes_to_what_it_was() {
    let row = |case, session, task, used| Row { case, session, task, used };
    let id = Some;
    check(KIND, NEW, &[
        row("auth", id("01a2274e-7096-729b-8e60-6300a8767308"), Told(Authentication, Some(401), None), None),
        row("context", id("01a2274e-9549-7434-8065-420834a4b97c"), Told(ContextOverflow, Some(400), None), None),
        row("cut", id("01a22765-acfb-7087-a3c0-8a7ce78ecae9"), Told(Infrastructure, None, None), None),
        row("empty", id("01a22766-4194-7523-934b-c21578913cda"), Answered(""), ONE),
        row("endearly", id("01a22766-47d6-756b-bfa6-373539f3e044"), Told(Infrastructure, None, None), None),
        row("forbidden", id("01a22766-348e-7357-b76f-c2014b4bb574"), Told(Authentication, Some(403), None), None),
        row("kill-SIGINT", id("01a22769-ca3c-75ab-bff1-8dd8576a5092"), Ended(Interrupted, FailureCause::Signal(2)), ONE),
        row("kill-SIGTERM", id("01a22769-b3e4-73a3-a2dd-cddc5af6758b"), Ended(Interrupted, FailureCause::Signal(15)), ONE),
        row("length", id("01a22766-3b28-70a7-94e4-61a97d210984"), Answered("Cut by the output limit"), ONE),
        row("mcp", id("01a2274f-12ac-73d6-b19f-34669760698f"), Answered("The tool answered."), TWO),
        row("payment", id("01a22766-2e2c-77e3-8ff6-4839a20240e4"), Told(Credit, Some(402), None), None),
        row("quota", id("01a2274e-7c5c-7369-92c6-a8ba6f434c7c"), Told(Credit, Some(429), None), None),
        row("rate", id("01a22764-f11c-735d-86fb-679d1b211287"), Told(RateLimit, Some(429), Some(2)), None),
        row("refused", id("01a22769-717b-754b-bb0d-ef241898c4ab"), Told(Infrastructure, None, None), None),
        row("resume-1", id("myrun-0001"), Answered("First turn answer."), ONE),
        row("resume-2", id("myrun-0001"), Answered("Second turn answer."), ONE),
        row("resume-bad", None, Ended(cs_model::FailureClass::Agent, FailureCause::NoSuchSession), None),
        row("server_error", id("01a22765-6e57-7354-ae0f-2ae660263426"), Told(Overloaded, Some(500), None), None),
        row("stdin-open", None, Ended(Interrupted, FailureCause::Signal(15)), None),
        row("stream_overloaded", id("01a22765-ea63-77ed-8a32-f5936b042eb3"), Told(Overloaded, None, None), None),
        row("text", id("01a2274e-5750-76e4-bb40-00611d0c209b"), Answered("PONG: the final answer."), Some((1, 1500, 300, 42, Some(7), 4320))),
        row("tool", id("01a2274f-278b-7144-b541-1f9ca24df54e"), Answered("Done: both files are there."), Some((3, 4900, 1200, 100, Some(0), 12960))),
        row("toolfail", id("01a22766-89cb-7409-a157-bee0fedf234d"), Answered("The command failed."), TWO),
    ]);
}

fn recorded(folder: &str, case: &str) -> String {
    std::fs::read_to_string(path(folder, case)).unwrap()
}

/// The output up to the line, and with it, that this text stands in for the first time.
fn until(output: &str, text: &str) -> String {
    let mut lines = Vec::new();
    for line in output.split_inclusive('\n') {
        lines.push(line);
        if line.contains(text) {
            return lines.concat();
        }
    }
    panic!("no {text}");
}

fn task_of(output: &str, end: &ProcessEnd) -> TaskEnd {
    let harness = harness_of(KIND);
    harness.outcome(end, &fold(&*harness, output.as_bytes())).task
}

#[test]
fn what_it_tries_again_is_told_at_once_and_is_the_reason_when_it_is_stopped() {
    let harness = harness_of(KIND);
    for (folder, class) in [(OLD, RateLimit), (NEW, RateLimit)] {
        let output = until(&recorded(folder, "rate"), "auto_retry_start");
        let seen = fold(&*harness, output.as_bytes());
        assert_eq!(seen.retrying().map(|trouble| trouble.class), Some(class));
        assert_eq!(seen.failure(), None);
        let task = task_of(&output, &ProcessEnd::Signalled(15));
        assert!(
            matches!(task, TaskEnd::Failed { class: RateLimit, .. }),
            "{task:?}"
        );
    }
}

#[test]
fn a_new_version_marks_its_end_also_when_it_failed() {
    let harness = harness_of(KIND);
    for case in ["text", "auth", "rate"] {
        let seen = fold(&*harness, recorded(NEW, case).as_bytes());
        assert_eq!(seen.end(), Some(true), "{case}");
        let seen = fold(&*harness, until(&recorded(NEW, case), "agent_end").as_bytes());
        assert_eq!(seen.end(), None, "{case}");
    }
}

#[test]
fn exit_code_zero_in_the_middle_is_no_success() {
    for folder in [OLD, NEW] {
        for last in ["turn_start", "toolUse", "tool_execution_end"] {
            let output = until(&recorded(folder, "tool"), last);
            let task = task_of(&output, &ProcessEnd::Exited(0));
            assert!(
                matches!(
                    task,
                    TaskEnd::Failed {
                        cause: FailureCause::NoEndMark,
                        ..
                    }
                ),
                "{folder}, {last}: {task:?}"
            );
        }
    }
}

#[test]
fn repeated_messages_give_no_events() {
    let harness = harness_of(KIND);
    for folder in [OLD, NEW] {
        for line in all_lines(folder) {
            let text = String::from_utf8_lossy(&line);
            if text.contains("{\"type\":\"message_update\"") || text.contains("{\"type\":\"agent_end\"") {
                assert_eq!(events(&*harness, &line), [], "{text}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_line_panics(line in prop_oneof![
        broken_line(all_lines(OLD)),
        broken_line(all_lines(NEW)),
        prop::collection::vec(any::<u8>(), 0..200),
    ]) {
        check_any_line(KIND, &line);
    }
}
