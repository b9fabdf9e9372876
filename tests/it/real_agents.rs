//! Agents with a harness of their own: the real binary, and shell scripts that say what Claude Code and Codex say.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::desk::Desk;

/// What every script answers when its program is looked at.
const LOOK: &str = r#"#!/bin/sh
case "$1 $2" in
    --version*) echo 2.1.332; exit ;;
    "auth status") echo '{"loggedIn": true}'; exit ;;
    "login status") exit ;;
esac
"#;
/// What it does then: it notes how it was called and what it was told, and finds its conversation.
const HEAD: &str = r#"
out=OUT
echo "$*" >>"$out/argv"
session=none
for word in "$@"; do
    case $before in --session-id | --resume | resume) session=$word ;; esac
    case $word in */*) ;; *-*-*-*-*) session=$word ;; esac
    before=$word
done
cat >"$out/prompt"
echo . >>"$out/starts"
say() { echo "$1"; }
begin() { say "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$session\",\"claude_code_version\":\"2.1.332\",\"mcp_servers\":[]}"; }
answer() { say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":1,\"session_id\":\"$session\",\"total_cost_usd\":${2:-0.02},\"usage\":{\"input_tokens\":10,\"output_tokens\":2},\"permission_denials\":[${3:-}],\"terminal_reason\":\"completed\",\"result\":\"$1\"}"; }
"#;

/// How Codex begins, and writes into the file of its conversation.
pub(crate) const CODEX_WRITES: &str = r#"
id=00000000-0000-4000-8000-00000000000a
mkdir -p "$HOME/.codex/sessions/2026/12/01"
begin_codex() { say "{\"type\":\"thread.started\",\"thread_id\":\"$id\"}"; say '{"type":"turn.started"}'; }
keep() { echo "$1" >>"$HOME/.codex/sessions/2026/12/01/rollout-2026-12-01T03-29-10-$id.jsonl"; }
"#;

/// A desk with an agent of this harness; what it does is said later.
pub(crate) fn desk_with(harness: &str) -> Desk {
    let desk = Desk::new();
    does(&desk, "exit 1");
    let program = desk.path("outside/agent");
    let program = program.to_str().expect("a path in UTF-8");
    desk.ok(&[
        "agent",
        "add",
        "real",
        "--harness",
        harness,
        "--permissions",
        "full",
        "--",
        program,
    ]);
    desk
}

/// Says what the agent does from now on.
pub(crate) fn does(desk: &Desk, script: &str) {
    let out = desk.path("outside");
    let head = HEAD.replace("OUT", out.to_str().expect("a path in UTF-8"));
    let program = out.join("agent");
    fs::write(&program, format!("{LOOK}{head}{script}\n")).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("made executable");
}

pub(crate) fn outside(desk: &Desk, name: &str) -> String {
    fs::read_to_string(desk.path("outside").join(name)).unwrap_or_default()
}

fn the_run(desk: &Desk, card: &str) -> Value {
    desk.card(card)["runs"][0].clone()
}

#[test]
fn an_answer_counts_although_its_agent_stays() {
    let desk = desk_with("claude");
    does(&desk, "begin; answer Done.; sleep 600");
    let card = desk.send("Do it");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(the_run(&desk, &card)["state"], "finished");
    desk.no_process_is_left();
    let argv = outside(&desk, "argv");
    assert!(
        argv.contains("--session-id") && argv.contains("bypassPermissions"),
        "{argv}"
    );
}

#[test]
fn an_agent_that_ends_before_it_reads_what_it_is_told_has_not_succeeded() {
    for harness in ["claude", "codex", "opencode", "pi", "json-lines"] {
        let desk = desk_with(harness);
        let program = desk.path("outside/agent");
        fs::write(
            &program,
            format!("{LOOK}echo . >>OUT/starts; exit 0\n")
                .replace("OUT", desk.path("outside").to_str().expect("UTF-8")),
        )
        .expect("written");
        let card = desk.send(&"Do it. ".repeat(4_000));
        desk.run_once();
        let run = the_run(&desk, &card);
        assert_eq!(desk.lines("starts"), 1, "{harness}");
        assert_eq!(
            (run["failure"].as_str(), run["tries"].as_u64()),
            (Some("agent"), Some(1)),
            "{harness}: {run}"
        );
        assert_eq!(desk.said_by(&card, "agent"), Vec::<String>::new(), "{harness}");
        desk.no_process_is_left();
    }
}

/// FB-4, FB-5: once, with one notice; a person's retry tries it.
#[test]
fn a_sign_in_that_is_refused_ends_the_agent_at_once_and_a_retry_recovers() {
    let desk = desk_with("claude");
    does(
        &desk,
        r#"begin
say "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,\"retry_delay_ms\":606,\"error_status\":401,\"error\":\"authentication_failed\",\"session_id\":\"$session\"}"
sleep 600"#,
    );
    let card = desk.send("Do it");
    let said = desk.run_once_saying();
    let other = desk.send("Do that");
    desk.run_once();
    desk.no_process_is_left();
    assert_eq!(said.matches("takes no work on this machine").count(), 1, "{said}");
    assert_eq!(desk.lines("starts"), 1, "its route is parked for all");
    let run = the_run(&desk, &card);
    assert_eq!(
        (run["failure"].as_str(), run["tries"].as_u64()),
        (Some("authentication"), Some(0)),
        "{run}"
    );
    let agents = desk.json(&["agent", "list"]);
    assert_eq!(agents[0]["parked"]["class"], "authentication", "{agents}");
    does(&desk, "begin; answer Done.");
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1, "nobody has said that it is mended");
    desk.ok(&["retry", &card]);
    desk.run_once();
    let argv = outside(&desk, "argv");
    assert!(argv.contains("--resume"), "the same conversation goes on: {argv}");
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(
        desk.said_by(&other, "agent"),
        ["Done."],
        "a success opens the route"
    );
}

#[test]
fn a_provider_that_wants_to_be_left_alone_parks_the_route_until_then() {
    let desk = desk_with("claude");
    does(
        &desk,
        r#"begin
say "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,\"retry_delay_ms\":3600000,\"error_status\":429,\"error\":\"rate_limit\",\"session_id\":\"$session\"}"
sleep 600"#,
    );
    let card = desk.send("Do it");
    desk.run_once();
    desk.no_process_is_left();
    let agents = desk.json(&["agent", "list"]);
    assert_eq!(agents[0]["parked"]["class"], "rate_limit", "{agents}");
    assert!(agents[0]["parked"]["until"].is_string(), "{agents}");
    assert_eq!(the_run(&desk, &card)["tries"], 0);
}

/// OW-3. What it does without knowing what was said before is done again; that is not to be so for ever.
#[test]
fn an_agent_that_never_goes_on_with_a_conversation_is_told_all_of_it_each_time() {
    let desk = desk_with("claude");
    does(
        &desk,
        "session=$(cat /proc/sys/kernel/random/uuid); begin; answer Done.",
    );
    let card = desk.send("Message 1");
    desk.run_once();
    for (turn, starts) in [(2, 3), (3, 5), (4, 6), (5, 7)] {
        desk.ok(&["send", "--card", &card, &format!("Message {turn}")]);
        desk.run_once();
        assert_eq!(desk.lines("starts"), starts, "turn {turn}");
    }
    let prompt = outside(&desk, "prompt");
    assert!(prompt.contains("Message 1"), "{prompt}");
    assert_eq!(desk.said_by(&card, "agent"), ["Done."; 5]);
}

/// OW-3.
#[test]
fn a_conversation_goes_on_and_one_that_was_lost_is_told_again() {
    let desk = desk_with("claude");
    does(&desk, "begin; answer First.");
    let card = desk.send("The first message");
    desk.run_once();
    does(
        &desk,
        "session=00000000-0000-4000-8000-00000000000b; begin; answer Second.",
    );
    desk.ok(&["send", "--card", &card, "The second message"]);
    let said = desk.run_once_saying();
    assert!(said.contains("began a new one"), "{said}");
    let (argv, prompt) = (outside(&desk, "argv"), outside(&desk, "prompt"));
    let last = argv.lines().last().unwrap_or_default();
    assert!(!last.contains("--resume"), "it begins again: {argv}");
    assert!(prompt.contains("The first message"), "{prompt}");
    assert!(prompt.contains("The second message"), "{prompt}");
    assert_eq!(the_run(&desk, &card)["tries"], 0);
    assert_eq!(
        desk.said_by(&card, "agent"),
        ["First.", "Second."],
        "what it answered without knowing does not count"
    );
    assert!(
        desk.ok(&["show", &card])
            .contains("did not go on with its conversation")
    );
    does(&desk, "begin; answer Third.");
    desk.ok(&["send", "--card", &card, "The third message"]);
    desk.run_once();
    let (argv, prompt) = (outside(&desk, "argv"), outside(&desk, "prompt"));
    assert!(
        argv.contains("--resume 00000000-0000-4000-8000-00000000000b"),
        "{argv}"
    );
    assert!(!prompt.contains("The first message"), "once is enough: {prompt}");
}

/// OW-3: asked for it again, its agent would say the same again, and it is nobody's fault.
#[test]
fn a_conversation_that_its_agent_does_not_know_any_more_is_begun_anew_at_once() {
    let desk = desk_with("claude");
    does(&desk, "begin; answer First.");
    let card = desk.send("The first message");
    desk.run_once();
    let unknown = r#"case "$*" in *--resume*)
say '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"'"$session"'","total_cost_usd":0,"permission_denials":[],"errors":["No conversation found with session ID: '"$session"'"]}'
echo "No conversation found with session ID: $session" >&2; exit 1 ;; esac"#;
    does(&desk, &format!("{unknown}\nbegin; answer Second."));
    desk.ok(&["send", "--card", &card, "The second message"]);
    let said = desk.run_once_saying();
    assert!(said.contains("does not know its conversation any more"), "{said}");
    assert_eq!(desk.said_by(&card, "agent"), ["First.", "Second."], "{said}");
    let (argv, prompt) = (outside(&desk, "argv"), outside(&desk, "prompt"));
    assert_eq!(argv.matches("--resume").count(), 1, "{argv}");
    assert!(prompt.contains("The first message"), "{prompt}");
    assert!(prompt.contains("The second message"), "{prompt}");
    let shown = desk.ok(&["show", &card]);
    assert!(shown.contains("did not go on with its conversation"), "{shown}");
}

/// OW-3: asked for it again, its agent would fail again.
#[test]
fn a_conversation_that_its_agent_cannot_read_any_more_is_begun_anew_and_told_again() {
    let turn = |id: &str, said: &str| {
        format!(
            r#"say '{{"type":"thread.started","thread_id":"00000000-0000-4000-8000-00000000000{id}"}}'
say '{{"type":"turn.started"}}'
say '{{"type":"item.completed","item":{{"id":"i","type":"agent_message","text":"{said}"}}}}'
say '{{"type":"turn.completed","usage":{{"input_tokens":1,"cached_input_tokens":0,"output_tokens":0}}}}'"#
        )
    };
    let desk = desk_with("codex");
    does(&desk, &turn("a", "First."));
    let card = desk.send("The first message");
    desk.run_once();
    let damaged =
        r#"case "$*" in *0000a*) echo "Error: thread/resume: thread/resume failed" >&2; exit 1 ;; esac"#;
    does(&desk, &format!("{damaged}\n{}", turn("b", "Second.")));
    desk.ok(&["send", "--card", &card, "The second message"]);
    let said = desk.run_once_saying();
    assert!(said.contains("begins a new one"), "{said}");
    let run = the_run(&desk, &card);
    assert_eq!(
        (run["failure"].as_str(), run["tries"].as_u64()),
        (Some("agent"), Some(1)),
        "{run}"
    );
    desk.ok(&["retry", &card]);
    desk.run_once();
    let (argv, prompt) = (outside(&desk, "argv"), outside(&desk, "prompt"));
    let last = argv.lines().last().unwrap_or_default();
    assert!(!last.contains("resume"), "it begins again: {argv}");
    assert!(prompt.contains("The first message"), "{prompt}");
    assert!(prompt.contains("The second message"), "{prompt}");
    assert_eq!(desk.said_by(&card, "agent"), ["First.", "Second."]);
}

/// An agent that works and then fails can read its conversation.
#[test]
fn a_conversation_goes_on_after_a_failure_in_the_middle_of_it() {
    let desk = desk_with("claude");
    does(&desk, "begin; answer First.");
    let card = desk.send("The first message");
    desk.run_once();
    does(&desk, "begin; exit 1");
    desk.ok(&["send", "--card", &card, "The second message"]);
    desk.run_once();
    assert_eq!(the_run(&desk, &card)["failure"], "agent");
    does(&desk, "begin; answer Second.");
    desk.ok(&["retry", &card]);
    desk.run_once();
    let (argv, prompt) = (outside(&desk, "argv"), outside(&desk, "prompt"));
    let last = argv.lines().last().unwrap_or_default();
    assert!(last.contains("--resume"), "{argv}");
    assert!(!prompt.contains("The first message"), "{prompt}");
    assert_eq!(desk.said_by(&card, "agent"), ["First.", "Second."]);
}

/// A crash is no interruption, after which it would be started again for ever.
#[test]
fn an_agent_that_crashes_uses_a_try() {
    let desk = desk_with("claude");
    does(&desk, "begin; kill -SEGV $$");
    let card = desk.send("Do it");
    desk.run_once();
    let run = the_run(&desk, &card);
    assert_eq!(
        (run["failure"].as_str(), run["tries"].as_u64()),
        (Some("agent"), Some(1)),
        "{run}"
    );
    let because = run["failed_because"].as_str().expect("a reason");
    assert!(because.contains("SIGSEGV"), "{because}");
}

/// OW-3: two agents that report one conversation, such as a program with a fixed name for it, do not go on with it both.
#[test]
fn two_cards_never_go_on_with_one_conversation() {
    let desk = desk_with("claude");
    does(
        &desk,
        "session=00000000-0000-4000-8000-00000000000b; begin; answer Done.",
    );
    let first = desk.send("The first message");
    let second = desk.send("The second message");
    desk.run_once();
    let resumes = |card: &str| {
        fs::write(desk.path("outside/argv"), "").expect("written");
        desk.ok(&["send", "--card", card, "Go on"]);
        desk.run_once();
        outside(&desk, "argv").contains("--resume 00000000-0000-4000-8000-00000000000b")
    };
    let both = [
        resumes(&first),
        resumes(&second),
        resumes(&first),
        resumes(&second),
    ];
    assert!(
        both == [true, false, true, false] || both == [false, true, false, true],
        "it is one card's: {both:?}"
    );
    assert_eq!(desk.said_by(&second, "agent").len(), 3);
}

#[test]
fn a_call_that_was_refused_becomes_a_question_and_its_answer_goes_to_the_same_conversation() {
    let desk = desk_with("claude");
    does(
        &desk,
        r#"begin; answer "I could not." 0.02 "{\"tool_name\":\"Bash\",\"tool_use_id\":\"t\",\"tool_input\":{\"command\":\"make\"}}""#,
    );
    let card = desk.send("Build it");
    desk.run_once();
    let asks = desk.json(&["asks"]);
    let question = asks[0]["question"].as_str().expect("a question");
    assert!(question.contains("make"), "{question}");
    does(&desk, "begin; answer Built.");
    desk.ok(&["answer", &card, "Use ninja"]);
    desk.run_once();
    assert!(outside(&desk, "argv").contains("--resume"));
    assert!(outside(&desk, "prompt").contains("Use ninja"));
    assert_eq!(
        desk.said_by(&card, "agent").last().map(String::as_str),
        Some("Built.")
    );
}

#[test]
fn an_agent_without_a_first_word_is_ended_and_that_is_no_try() {
    let desk = desk_with("claude");
    does(&desk, "sleep 600");
    desk.configure("[agents.real.limits]\nstart = \"1s\"\n");
    let card = desk.send("Do it");
    let daemon = desk.daemon();
    desk.until("it was ended", || {
        (the_run(&desk, &card)["failure"] == "infrastructure").then_some(())
    });
    daemon.kill();
    let run = the_run(&desk, &card);
    let because = run["failed_because"].as_str().expect("a reason");
    assert!(because.contains("`start`"), "{because}");
    assert_eq!(run["tries"], 0, "{run}");
}

#[test]
fn an_agent_that_says_nothing_more_is_ended_and_its_conversation_goes_on() {
    let desk = desk_with("claude");
    does(&desk, "begin; sleep 600");
    desk.configure("[agents.real.limits]\nidle = \"1s\"\n");
    let card = desk.send("Do it");
    let daemon = desk.daemon();
    desk.until("it was ended", || {
        (the_run(&desk, &card)["failure"] == "agent").then_some(())
    });
    daemon.kill();
    let run = the_run(&desk, &card);
    let because = run["failed_because"].as_str().expect("a reason");
    assert!(because.contains("`idle`"), "{because}");
    does(&desk, "begin; answer Done.");
    desk.ok(&["retry", &card]);
    desk.run_once();
    assert!(outside(&desk, "argv").contains("--resume"));
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
}

#[test]
fn a_budget_of_tokens_ends_an_agent_that_works() {
    let desk = desk_with("codex");
    does(
        &desk,
        r#"say '{"type":"thread.started","thread_id":"00000000-0000-4000-8000-00000000000a"}'
say '{"type":"turn.started"}'
exit 0"#,
    );
    let script = r#"echo '{"type":"usage","input_tokens":5000,"output_tokens":1}'; sleep 600"#;
    desk.ok(&["agent", "add", "lines", "--json-lines", "--", "sh", "-c", script]);
    desk.configure("[limits]\ntokens = 1000\n");
    let sent = desk.json(&["send", "--agent", "lines", "Work"]);
    let card = sent["card"].as_str().expect("a card").to_owned();
    desk.run_once();
    desk.no_process_is_left();
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["state"], "capped_spend", "{detail}");
    let reason = detail["card"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("`tokens`") && reason.contains("5001"), "{reason}");
    assert_eq!(detail["card"]["usage"]["input_tokens"], 5000, "{detail}");
}

/// Neither tells of tokens before its end; the files of their conversations have them.
#[test]
fn a_budget_of_tokens_ends_an_agent_that_tells_of_them_only_at_its_end() {
    let codex = |line: &str| format!("{CODEX_WRITES}begin_codex; keep '{line}'; sleep 600");
    let older = codex(
        r#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":5000,"output_tokens":1}}}}"#,
    );
    let codex = codex(
        r#"{"type":"token_usage_record","payload":{"usage":{"input_tokens":5000,"output_tokens":1},"thread_token_usage":{"input_tokens":5000,"output_tokens":1}}}"#,
    );
    let claude = r#"begin
mkdir -p "$HOME/.claude/projects/-a-tree"
echo '{"type":"assistant","message":{"id":"m","usage":{"input_tokens":4000,"cache_read_input_tokens":1000,"output_tokens":1}}}' \
    >>"$HOME/.claude/projects/-a-tree/$session.jsonl"
sleep 600"#;
    for (harness, script) in [
        ("codex", older.as_str()),
        ("codex", codex.as_str()),
        ("claude", claude),
    ] {
        let desk = desk_with(harness);
        does(&desk, script);
        desk.configure("[limits]\ntokens = 1000\n");
        let card = desk.send("Work");
        desk.run_once();
        desk.no_process_is_left();
        let detail = desk.card(&card);
        assert_eq!(detail["runs"][0]["state"], "capped_spend", "{detail}");
        let reason = detail["card"]["reason"].as_str().expect("a reason");
        assert!(reason.contains("`tokens`") && reason.contains("5001"), "{reason}");
        assert_eq!(detail["card"]["usage"]["input_tokens"], 5000, "{detail}");
    }
}

#[test]
fn a_card_that_has_cost_what_it_may_is_not_started_until_it_may_cost_more() {
    let desk = desk_with("claude");
    does(&desk, "begin; answer Done. 2.5");
    let card = desk.send("Do it");
    desk.run_once();
    desk.configure("[limits]\ncard_usd = 2\n");
    desk.ok(&["send", "--card", &card, "More"]);
    let said = desk.run_once_saying();
    assert_eq!(desk.lines("starts"), 1, "{said}");
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["state"], "capped_spend", "{detail}");
    let reason = detail["card"]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("`card_usd`") && reason.contains("2.50 USD"),
        "{reason}"
    );
    let path = desk.path("home/.config/cs-panel/config.toml");
    let text = fs::read_to_string(&path).expect("it is configured");
    fs::write(&path, text.replace("card_usd = 2", "card_usd = 20")).expect("written");
    desk.ok(&["retry", &card]);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done.", "Done."]);
    assert!(
        outside(&desk, "argv").contains("--max-budget-usd 17.500000"),
        "what is left to it"
    );
}

/// CJ-17: an attempt that is recovered starts with what its claim took.
#[test]
fn a_model_is_chosen_for_a_card_changed_and_given_back() {
    let desk = desk_with("claude");
    desk.configure("model = \"of-the-agent\"\n");
    does(&desk, "begin; answer Done.");
    let sent = desk.json(&["send", "--model", "big", "--effort", "high", "Do it"]);
    let card = sent["card"].as_str().expect("a card").to_owned();
    desk.crash_at("P5");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    let last = || {
        outside(&desk, "argv")
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(last().contains("--model big --effort high"), "{}", last());
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["model"], "big", "{detail}");
    assert_eq!(detail["runs"][0]["effort"], "high", "{detail}");
    assert!(
        desk.ok(&["show", &card])
            .contains("agent     real, model big, effort high")
    );

    desk.ok(&[
        "send", "--card", &card, "--model", "small", "--effort", "default", "More",
    ]);
    desk.run_once();
    assert!(
        last().contains("--model small") && !last().contains("--effort"),
        "{}",
        last()
    );
    desk.ok(&["send", "--card", &card, "--model", "default", "More"]);
    desk.run_once();
    assert!(last().contains("--model of-the-agent"), "{}", last());
    assert_eq!(desk.json(&["cards"])[0]["card"]["model"], Value::Null);
}

/// FB-2.
#[test]
fn a_model_that_nobody_knows_is_not_tried_again_and_another_one_is() {
    let desk = desk_with("codex");
    let failed = r#"say '{"type":"thread.started","thread_id":"00000000-0000-4000-8000-00000000000a"}'
say '{"type":"turn.started"}'
say '{"type":"turn.failed","error":{"message":"{\"type\":\"error\",\"status\":400,\"error\":{\"type\":\"invalid_request_error\",\"message\":\"The model is not there.\"}}"}}'
exit 1"#;
    does(&desk, failed);
    let sent = desk.json(&["send", "--model", "no-such-model", "Do it"]);
    let card = sent["card"].as_str().expect("a card").to_owned();
    desk.run_once();
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1, "once is enough");
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["failure"], "invalid_request", "{detail}");
    assert_eq!(detail["card"]["state"], "failed", "{detail}");
    desk.ok(&["send", "--card", &card, "--model", "there", "With another one"]);
    desk.run_once();
    assert!(outside(&desk, "argv").contains(r#"-c model="there""#));
}

#[test]
fn an_agent_that_cannot_be_told_a_model_is_refused_at_send_and_forgets_it_at_hand_back() {
    let desk = desk_with("claude");
    desk.ok(&["agent", "add", "lines", "--json-lines", "--", "cat"]);
    let said = desk.fails(2, &["send", "--agent", "lines", "--model", "big", "Work"]);
    assert!(
        said.contains("nothing was sent") && said.contains("--harness"),
        "{said}"
    );
    let sent = desk.json(&["send", "--agent", "real", "--model", "big", "Work"]);
    let card = sent["card"].as_str().expect("a card").to_owned();
    desk.ok(&["hand-back", &card, "--agent", "lines"]);
    assert_eq!(desk.card(&card)["card"]["model"], Value::Null);
    let said = desk.fails(2, &["send", "--card", &card, "--effort", "high", "More"]);
    assert!(said.contains("nothing was sent"), "{said}");
    desk.ok(&["send", "--card", &card, "--effort", "default", "More"]);
    desk.fails(2, &["send", "--agent", "real", "--model", "two words", "Work"]);
}

/// FB-2.
#[test]
fn a_choice_that_the_agent_cannot_be_told_any_more_is_no_start_and_its_reason_has_the_cure() {
    let desk = desk_with("claude");
    does(&desk, "echo '{\"type\":\"final\",\"text\":\"Done.\"}'");
    let sent = desk.json(&["send", "--model", "big", "Work"]);
    let card = sent["card"].as_str().expect("a card").to_owned();
    let path = desk.path("home/.config/cs-panel/config.toml");
    let text = fs::read_to_string(&path).expect("it is configured");
    let other = text.replace("harness = \"claude\"", "harness = \"json-lines\"");
    assert_ne!(other, text);
    fs::write(&path, other).expect("written");
    desk.run_once();
    assert_eq!(desk.lines("starts"), 0);
    let run = the_run(&desk, &card);
    assert_eq!(run["failure"], "invalid_request", "{run}");
    let because = run["failed_because"].as_str().expect("a reason");
    let (_, cure) = because.split_once("with `cs-panel ").expect("a command");
    let (cure, _) = cure.split_once('`').expect("its end");
    let args = shell_words::split(cure).expect("words of a shell");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    desk.ok(&args);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
}
