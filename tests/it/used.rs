//! What attempts used, as agents with a harness of their own tell it, in their output and in the files of their conversations.

use serde_json::Value;

use crate::real_agents::{CODEX_WRITES, desk_with, does, outside};

/// The agent is killed, and its shim before it.
const KILLED: &str = "kill -9 $PPID; kill -9 $$";

/// Its shim alone is. It may be gone itself before its next command.
const ORPHANED: &str = ": >\"$out/orphan\"; kill -9 $PPID; sleep 600";

/// What Codex writes down when the tools that a request wanted are done: what its conversation has used.
fn codex_counts(tokens: u32) -> String {
    format!(
        r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{tokens},"output_tokens":0}}}}}}}}"#
    )
}

/// What it writes down of a request when that is answered.
fn codex_asked(tokens: u32, all: u32) -> String {
    format!(
        r#"{{"type":"token_usage_record","payload":{{"usage":{{"input_tokens":{tokens},"output_tokens":0}},"thread_token_usage":{{"input_tokens":{all},"output_tokens":0}}}}}}"#
    )
}

/// What it says at its end, when its conversation has used so much.
fn codex_ends(tokens: u32) -> String {
    format!(
        r#"say '{{"type":"item.completed","item":{{"id":"i","type":"agent_message","text":"Done."}}}}'
say '{{"type":"turn.completed","usage":{{"input_tokens":{tokens},"cached_input_tokens":0,"output_tokens":0}}}}'"#
    )
}

/// What Claude Code writes into the file of its conversation while it works.
const WRITES: &str = r#"mkdir -p "$HOME/.claude/projects/-a-tree"
echo '{"type":"assistant","message":{"id":"m","usage":{"input_tokens":4000,"cache_read_input_tokens":1000,"output_tokens":1}}}' \
    >>"$HOME/.claude/projects/-a-tree/$session.jsonl""#;

/// Nobody has seen its end, and the daemon dies too, before it has noted what was used, or after it has told the record.
#[test]
fn what_an_attempt_used_that_was_cut_short_is_counted_once_whenever_the_daemon_dies() {
    let ends = [
        ("P11", KILLED),
        ("P20", KILLED),
        ("P11", ORPHANED),
        ("P20", ORPHANED),
    ];
    for (border, end) in ends {
        let desk = desk_with("claude");
        let script = format!(
            "begin\nif [ ! -e \"$out/cut\" ]; then\n{WRITES}\ntouch \"$out/cut\"; {end}; fi\nanswer Done."
        );
        does(&desk, &script);
        let card = desk.send("Work");
        desk.crash_at(border);
        desk.run_once();
        assert_eq!(desk.said_by(&card, "agent"), ["Done."], "{border}");
        assert_eq!(desk.lines("starts"), 2, "{border}");
        let detail = desk.card(&card);
        let (run, sums) = (&detail["runs"][0], &detail["card"]["usage"]);
        assert_eq!(sums["input_tokens"], 5000 + 10, "{border}: {detail}");
        assert_eq!(
            (&sums["cached_tokens"], &sums["reasoning_tokens"]),
            (&Value::from(1000), &Value::Null),
            "{border}: {detail}"
        );
        assert_eq!(run["usage"], *sums, "{border}: {detail}");
        assert_eq!(run["last_used"]["attempt"], 2, "{border}: {detail}");
        assert_eq!(
            run["last_used"]["usage"]["input_tokens"], 10,
            "{border}: {detail}"
        );
        let session = run["session"].as_str().expect("a conversation");
        assert!(outside(&desk, "argv").contains(session), "{session}");
        let shown = desk.ok(&["show", &card]);
        assert!(shown.contains("used      5010 tokens in (1000 kept)"), "{shown}");
    }
}

#[test]
fn what_an_attempt_used_that_a_person_stopped_is_counted_once() {
    let desk = desk_with("claude");
    does(
        &desk,
        &format!("begin\n{WRITES}\ntouch \"$out/works\"\nsleep 600"),
    );
    let card = desk.send("Work");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/works"));
    desk.ok(&["stop", &card]);
    daemon.kill();
    let used = || desk.card(&card)["card"]["usage"]["input_tokens"].clone();
    assert_eq!(used(), 5000);
    does(&desk, "begin; answer Done.");
    desk.ok(&["send", "--card", &card, "More"]);
    desk.run_once();
    assert_eq!(used(), 5000 + 10);
}

/// Codex tells no cost: its tokens have that of the list.
#[test]
fn what_attempts_cost_that_were_cut_short_counts_for_what_a_card_may_cost() {
    let desk = desk_with("codex");
    let script = format!(
        "{CODEX_WRITES}begin_codex; keep '{}'; {KILLED}",
        codex_counts(1_000_000)
    );
    does(&desk, &script);
    desk.configure("[limits]\ncard_usd = 2\n");
    let sent = desk.json(&["send", "--model", "gpt-5.4", "Work"]);
    let card = sent["card"].as_str().expect("a card").to_owned();
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1);
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["state"], "capped_spend", "{detail}");
    assert_eq!(detail["runs"][0]["session_model"], "gpt-5.4", "{detail}");
    assert_eq!(detail["card"]["usage"]["cost_microusd"], 2_500_000, "{detail}");
}

/// Codex counts over its whole conversation, whatever became of the attempts.
#[test]
fn what_a_conversation_counts_is_counted_once_also_where_an_attempt_was_killed() {
    let desk = desk_with("codex");
    let turn = |tokens: u32, end: &str| format!("{CODEX_WRITES}begin_codex\n{end}\n{}", codex_ends(tokens));
    does(&desk, &turn(1_000, ""));
    let card = desk.send("One");
    desk.run_once();
    let used = || desk.card(&card)["card"]["usage"]["input_tokens"].clone();
    assert_eq!(used(), 1_000);
    let killed_once = "if mkdir \"$out/second\" 2>/dev/null; then kill -9 $$; fi";
    does(&desk, &turn(4_000, killed_once));
    desk.ok(&["send", "--card", &card, "Two"]);
    let daemon = desk.daemon();
    desk.until("it has answered", || {
        (desk.said_by(&card, "agent").len() == 2).then_some(())
    });
    daemon.kill();
    assert_eq!(used(), 4_000, "not 5,000");
    desk.ok(&["send", "--card", &card, "Three"]);
    does(&desk, &turn(4_500, ""));
    desk.run_once();
    assert_eq!(used(), 4_500);
}

/// It is killed in its second request, which is in no number of its whole conversation; the daemon dies as well. What was told once of that
/// attempt is not told again with what its conversation has used after the next one.
#[test]
fn what_codex_used_is_counted_once_also_where_it_was_killed_in_a_request() {
    for border in ["P11", "P20"] {
        let desk = desk_with("codex");
        let killed = format!(
            "keep '{}'; keep '{}'; keep '{}'; {KILLED}",
            codex_asked(1_000, 1_000),
            codex_counts(1_000),
            codex_asked(200, 1_200)
        );
        let goes_on = format!(
            "keep '{}'; keep '{}'\n{}",
            codex_asked(30, 1_230),
            codex_counts(1_030),
            codex_ends(1_030)
        );
        does(
            &desk,
            &format!(
                "{CODEX_WRITES}begin_codex\nif [ ! -e \"$out/cut\" ]; then touch \"$out/cut\"; {killed}; fi\n{goes_on}"
            ),
        );
        let card = desk.send("Work");
        desk.crash_at(border);
        desk.run_once();
        assert_eq!(desk.said_by(&card, "agent"), ["Done."], "{border}");
        assert_eq!(desk.lines("starts"), 2, "{border}");
        let detail = desk.card(&card);
        let (run, sums) = (&detail["runs"][0], &detail["card"]["usage"]);
        assert_eq!(sums["input_tokens"], 1_230, "{border}: {detail}");
        assert_eq!(sums["turns"], 3, "{border}: {detail}");
        assert_eq!(
            run["last_used"]["usage"]["input_tokens"], 30,
            "{border}: {detail}"
        );
    }
}

#[test]
fn what_an_attempt_used_whose_shim_was_killed_while_no_daemon_was_there_is_counted() {
    let desk = desk_with("claude");
    does(
        &desk,
        &format!(
            "begin\n: >\"$out/works\"\nuntil [ -e \"$out/alone\" ]; do sleep 0.1; done\n{WRITES}\n{ORPHANED}"
        ),
    );
    let card = desk.send("Work");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/works"));
    daemon.kill();
    let detail = || desk.card(&card);
    assert_eq!(detail()["card"]["usage"]["input_tokens"], Value::Null);
    std::fs::write(desk.path("outside/alone"), "").expect("written");
    desk.until_there(&desk.path("outside/orphan"));
    does(&desk, "begin; answer Done.");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(
        detail()["card"]["usage"]["input_tokens"],
        5000 + 10,
        "{}",
        detail()
    );
}

#[test]
fn a_budget_of_money_that_nobody_can_count_is_said_and_its_cure_holds() {
    let desk = desk_with("codex");
    does(
        &desk,
        &format!("{CODEX_WRITES}begin_codex\n{}", codex_ends(1_000_000)),
    );
    desk.configure("[limits]\ncard_usd = 2\n");
    let said = |args: &[&str]| {
        let done = desk.panel(args).output().expect("it runs");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stderr).expect("UTF-8")
    };
    let is_blind =
        |text: &str| text.contains("`card_usd` do not hold agent real") && text.contains("gpt-5.4");
    let listed = said(&["agent", "list"]);
    assert!(is_blind(&listed), "{listed}");
    let sent = said(&["send", "--model", "no-such-model", "Work"]);
    assert!(is_blind(&sent), "{sent}");
    let run = desk.run_once_saying();
    assert!(is_blind(&run), "{run}");
    let priced = desk.json(&["send", "--model", "gpt-5.4", "Work"]);
    let card = priced["card"].as_str().expect("a card");
    desk.run_once();
    assert_eq!(desk.card(card)["card"]["usage"]["cost_microusd"], 2_500_000);
    let sent = said(&["send", "--card", card, "--model", "gpt-5.4", "More"]);
    assert!(!is_blind(&sent), "{sent}");
    let back = said(&["send", "--card", card, "--model", "default", "More"]);
    assert!(is_blind(&back), "{back}");
}
