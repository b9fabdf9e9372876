//! The bridge with scripted agents: real processes, which say what they were written to say.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use cs_acp::{AcpError, Spec, run};
use cs_harness::{
    AgentConfig, FailureCause, Harness, HarnessKind, Line, ProcessEnd, RunFacts, Seen, TaskEnd, adapter,
};
use cs_model::FailureClass;

/// What every agent of these tests begins with.
const OPEN: &str = r#"
hear() { read -r line || exit 9; }
say() { printf '%s\n' "$1"; }
open() {
    hear; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"1.2"}}}'
    hear; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
    hear
}
words() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
end() { say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'; }
"#;

/// How an attempt went: the bridge's exit code, what it said, what that comes to.
struct Attempt {
    code: u8,
    output: String,
    task: TaskEnd,
    seen: Seen,
}

fn sh(script: &str) -> Vec<String> {
    ["sh", "-c", &format!("{OPEN}\n{script}")]
        .map(str::to_owned)
        .to_vec()
}

fn patient(argv: Vec<String>) -> Spec {
    Spec {
        answer_within: Duration::from_secs(60),
        end_within: Duration::from_secs(60),
        ..Spec::new(argv)
    }
}

async fn lead(spec: Spec, facts: RunFacts) -> Attempt {
    let agent = AgentConfig::new("scripted", spec.argv.clone(), HarnessKind::Acp).unwrap();
    let harness = adapter(&agent);
    let mut output = Vec::new();
    let start = harness.launch(&facts).stdin;
    let code = run(&start[..], &mut output, &spec).await.unwrap();
    judge(&*harness, code, &output)
}

fn judge(harness: &dyn Harness, code: u8, output: &[u8]) -> Attempt {
    let mut seen = Seen::default();
    for bytes in output.split_inclusive(|byte| *byte == b'\n') {
        let line = Line {
            bytes,
            dropped_bytes: 0,
        };
        for event in harness.events(&line) {
            seen.observe(&event);
        }
    }
    let task = harness.outcome(&ProcessEnd::Exited(code.into()), &seen).task;
    let output = String::from_utf8(output.to_vec()).unwrap();
    Attempt {
        code,
        output,
        task,
        seen,
    }
}

async fn lead_sh(script: &str) -> Attempt {
    let facts = RunFacts {
        prompt: "do it".to_owned(),
        cwd: "/".to_owned(),
        ..RunFacts::default()
    };
    lead(patient(sh(script)), facts).await
}

#[track_caller]
fn assert_failed(attempt: &Attempt, class: FailureClass, cause: FailureCause) {
    match &attempt.task {
        TaskEnd::Failed {
            class: found,
            cause: told,
            ..
        } => assert_eq!((*found, *told), (class, cause), "{}", attempt.output),
        other => panic!("{other:?}: {}", attempt.output),
    }
}

#[tokio::test]
async fn an_agent_that_answers_is_answered() {
    let attempt = lead_sh("open; words 'It is '; words 'done.'; end; hear").await;
    let answered = TaskEnd::Answered {
        text: "It is done.".to_owned(),
    };
    assert_eq!((attempt.code, attempt.task), (0, answered));
    assert_eq!(attempt.seen.session(), Some("s1"));
    assert_eq!(attempt.seen.version(), Some("1.2"));
}

#[tokio::test]
async fn the_prompt_comes_whole_however_long_it_is() {
    // The agent says back how long the line with the prompt was.
    let facts = RunFacts {
        prompt: "x".repeat(1024 * 1024),
        cwd: "/".to_owned(),
        ..RunFacts::default()
    };
    let attempt = lead(patient(sh("open; words \"${#line}\"; end")), facts).await;
    let TaskEnd::Answered { text } = attempt.task else {
        panic!("{}", attempt.output);
    };
    assert!(text.parse::<usize>().unwrap() > 1024 * 1024);
}

#[tokio::test]
async fn an_agent_that_talks_before_it_listens_holds_nothing_up() {
    let flood = "i=0; while [ $i -lt 2000 ]; do say '{\"jsonrpc\":\"2.0\",\"method\":\"_noise\",\"params\":{\"x\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}}'; i=$((i+1)); done";
    let facts = RunFacts {
        prompt: "x".repeat(512 * 1024),
        cwd: "/".to_owned(),
        ..RunFacts::default()
    };
    let script = format!(
        "hear; {flood}; say '{{\"id\":1,\"result\":{{\"protocolVersion\":1}}}}'; hear; say '{{\"id\":2,\"result\":{{\"sessionId\":\"s1\"}}}}'; {flood}; hear; words ok; end"
    );
    let attempt = lead(patient(sh(&script)), facts).await;
    assert_eq!(attempt.code, 0, "{}", attempt.output);
}

#[tokio::test]
async fn garbage_between_the_messages_is_kept_and_counted() {
    let attempt = lead_sh("say 'Loaded cached credentials.'; open; say '{'; words ok; end").await;
    assert_eq!(attempt.seen.unknown_count(), 2, "{}", attempt.output);
    assert!(matches!(attempt.task, TaskEnd::Answered { .. }));
}

#[tokio::test]
async fn an_agent_that_ends_early_has_not_succeeded() {
    let attempt = lead_sh("open; words half; exit 0").await;
    assert_failed(&attempt, FailureClass::Agent, FailureCause::NoEndMark);
    let attempt = lead_sh("open; words half; exit 7").await;
    assert_eq!(attempt.code, 7);
    assert_failed(&attempt, FailureClass::Agent, FailureCause::ExitCode(7));
    let attempt = lead_sh("kill -9 $$").await;
    assert_failed(&attempt, FailureClass::Interrupted, FailureCause::Signal(9));
}

#[tokio::test]
async fn an_agent_that_ends_before_it_reads_its_prompt_has_not_succeeded() {
    let script = r#"hear; say '{"id":1,"result":{"protocolVersion":1}}'; hear; say '{"id":2,"result":{"sessionId":"s1"}}'; exit 0"#;
    for bytes in [10, 4 * 1024 * 1024] {
        let facts = RunFacts {
            prompt: "x".repeat(bytes),
            cwd: "/".to_owned(),
            ..RunFacts::default()
        };
        let attempt = lead(patient(sh(script)), facts).await;
        assert_eq!(attempt.code, 0, "{}", attempt.output);
        assert_failed(&attempt, FailureClass::Agent, FailureCause::NoEndMark);
    }
}

#[tokio::test]
async fn an_agent_that_asks_and_never_listens_is_given_up() {
    let id = "x".repeat(1000);
    let script = format!(r#"open; while say '{{"id":"{id}","method":"fs/read_text_file"}}'; do :; done"#);
    let attempt = lead_sh(&script).await;
    assert_eq!(attempt.code, 1);
    assert_failed(&attempt, FailureClass::Agent, FailureCause::NotListening);
}

/// Nothing of it is held: neither notifications, nor the ends of calls that nobody began, nor words.
#[tokio::test]
async fn an_agent_that_floods_is_led_on_to_its_end() {
    let long = "x".repeat(4000);
    let script = format!(
        r#"open
        i=0; while [ $i -lt 3000 ]; do
            say '{{"method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{long}"}}}}}}}}'
            say '{{"method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"tool_call","toolCallId":"'$i'","title":"{long}","status":"pending"}}}}}}'
            i=$((i+1))
        done
        words last; end"#
    );
    let attempt = lead_sh(&script).await;
    assert_eq!(
        attempt.task,
        TaskEnd::Answered {
            text: "last".to_owned()
        }
    );
}

#[tokio::test]
async fn an_agent_that_refuses_to_begin_is_told_by_its_error() {
    let refusal = r#"hear; say '{"id":1,"error":{"code":-32603,"message":"Internal error","data":{"details":"402 Insufficient credits"}}}'; hear"#;
    assert_failed(
        &lead_sh(refusal).await,
        FailureClass::Credit,
        FailureCause::Told(Some(402)),
    );
    let refusal = r#"hear; say '{"id":1,"error":"no"}'; hear"#;
    assert_failed(
        &lead_sh(refusal).await,
        FailureClass::Agent,
        FailureCause::Told(None),
    );
}

#[tokio::test]
async fn an_agent_that_dies_while_it_waits_for_a_permission_has_not_succeeded() {
    let asks = r#"say '{"id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"1","title":"ls","kind":"execute"},"options":[{"optionId":"yes","kind":"allow_once"}]}}'"#;
    for (end, class, cause) in [
        ("exit 0", FailureClass::Agent, FailureCause::NoEndMark),
        ("exit 3", FailureClass::Agent, FailureCause::ExitCode(3)),
        ("kill -9 $$", FailureClass::Interrupted, FailureCause::Signal(9)),
    ] {
        let attempt = lead_sh(&format!("open; words half; {asks}; {end}")).await;
        assert_failed(&attempt, class, cause);
    }
}

#[tokio::test]
async fn an_agent_that_never_answers_is_given_up() {
    let spec = Spec {
        answer_within: Duration::from_millis(20),
        end_within: Duration::from_secs(60),
        ..Spec::new(sh("hear; hear"))
    };
    let facts = RunFacts {
        cwd: "/".to_owned(),
        ..RunFacts::default()
    };
    let attempt = lead(spec, facts).await;
    assert_eq!(attempt.code, 1);
    assert_failed(&attempt, FailureClass::Infrastructure, FailureCause::NoAnswer);
}

#[tokio::test]
async fn an_agent_that_talks_on_and_on_instead_of_answering_is_given_up() {
    let spec = Spec {
        answer_within: Duration::from_millis(20),
        end_within: Duration::from_secs(60),
        ..Spec::new(sh("hear; while say '{\"method\":\"_noise\"}'; do :; done"))
    };
    let facts = RunFacts {
        cwd: "/".to_owned(),
        ..RunFacts::default()
    };
    let attempt = lead(spec, facts).await;
    assert_failed(&attempt, FailureClass::Infrastructure, FailureCause::NoAnswer);
}

#[tokio::test]
async fn an_error_of_the_provider_is_told() {
    let script = r#"open; say '{"jsonrpc":"2.0","id":3,"error":{"code":429,"message":"Resource has been exhausted"}}'"#;
    let attempt = lead_sh(script).await;
    assert_failed(&attempt, FailureClass::RateLimit, FailureCause::Told(Some(429)));
}

#[tokio::test]
async fn a_denied_call_becomes_a_question() {
    let script = r#"open
        say '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"1","title":"rm -r /","kind":"execute","rawInput":{"command":"rm -r /"}},"options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}'
        hear; case "$line" in *'"no"'*) words 'I was not allowed.';; *) words allowed;; esac
        end"#;
    let facts = RunFacts {
        cwd: "/tree".to_owned(),
        permissions: cs_harness::Permissions::Edit,
        ..RunFacts::default()
    };
    let attempt = lead(patient(sh(script)), facts).await;
    assert_eq!(attempt.seen.denied(), ["execute: rm -r /"]);
    assert!(
        matches!(&attempt.task, TaskEnd::Asked { question, .. } if question.contains("I was not allowed.")),
        "{:?}",
        attempt.task
    );
}

#[tokio::test]
async fn a_program_that_is_missing_is_an_invalid_request() {
    let facts = RunFacts {
        cwd: "/".to_owned(),
        ..RunFacts::default()
    };
    let attempt = lead(patient(vec!["/nowhere/agent".to_owned()]), facts).await;
    assert_failed(&attempt, FailureClass::InvalidRequest, FailureCause::Told(None));
}

#[tokio::test]
async fn a_start_line_that_is_none_is_refused() {
    for stdin in ["", "{}", "no json\n"] {
        let error = run(stdin.as_bytes(), Vec::new(), &patient(sh("exit 0")))
            .await
            .unwrap_err();
        assert!(matches!(error, AcpError::Start(_)), "{stdin}: {error}");
    }
}
