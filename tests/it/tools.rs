//! What an agent calls through its tools, from the bridge in its tree to the record. TL-1, TL-12.

use std::fs;

use serde_json::{Value, json};

use crate::desk::{Desk, kill};
use crate::real_agents::{desk_with, does};

/// Asks for a colour through its tools, then offers what it made of the answer.
fn asks_and_offers(desk: &Desk) -> String {
    let answer = desk.path("outside/answer");
    desk.script(&json!([
        {"when": "first", "steps": [
            desk.count("starts"),
            {"session": "the-one"},
            {"call_tool": {"tool": "ask", "arguments": {"question": "Which colour?", "choices": ["red", "blue"]}, "into": answer}},
            {"final": "I have asked for the colour."}]},
        {"when": "answer", "steps": [
            desk.count("starts"),
            {"write_file": {"path": "colour.txt", "text": "{answer}\n"}},
            {"commit": "Add the colour"},
            {"call_tool": {"tool": "offer_landing", "arguments": {"summary": "The colour", "evidence": "cat colour.txt: it is there"}}},
            {"final": "It is {answer}, in session {session}."}]}]));
    desk.send("Add a colour")
}

fn asks(desk: &Desk) -> Value {
    desk.json(&["asks"])
}

/// The colour is on main, by one question, one answer and one offer, in one conversation.
fn check_landed(desk: &Desk, card: &str) {
    desk.ok(&["land", card]);
    desk.run_once();
    assert_eq!(desk.git(&["show", "main:colour.txt"]), "blue\n");
    let detail = desk.card(card);
    let asked = detail["asks"].as_array().expect("asks");
    let questions: Vec<_> = asked
        .iter()
        .filter(|ask| ask["offers_landing"] == false)
        .collect();
    assert_eq!(questions.len(), 1, "{detail}");
    assert_eq!(questions[0]["answer"], "blue", "{detail}");
    assert_eq!(asked.len(), 2, "one question, one offer: {detail}");
    assert_eq!(detail["runs"].as_array().map(Vec::len), Some(1), "{detail}");
    assert_eq!(detail["runs"][0]["tries"], 0, "{detail}");
    let said = desk.said_by(card, "agent");
    assert_eq!(
        said,
        ["I have asked for the colour.", "It is blue, in session the-one."]
    );
    desk.no_process_is_left();
}

#[test]
fn an_agent_asks_and_offers_through_its_tools_to_a_landed_commit() {
    let desk = Desk::new();
    let card = asks_and_offers(&desk);
    desk.run_once();
    let answer = fs::read_to_string(desk.path("outside/answer")).expect("it was answered");
    assert!(answer.contains("End your turn"), "{answer}");
    assert_eq!(desk.card(&card)["runs"][0]["state"], "asked");
    let open = asks(&desk);
    assert_eq!(open[0]["question"], "Which colour?", "{open}");
    assert_eq!(open[0]["choices"], json!(["red", "blue"]), "{open}");
    desk.ok(&["answer", &card, "blue"]);
    desk.run_once();
    check_landed(&desk, &card);
}

/// The daemon dies at each step of a call; the agent waits in it and is answered by the next daemon.
#[test]
fn a_call_outlives_the_daemon_at_every_step_of_it() {
    for border in ["T1", "T2", "T3", "T4"] {
        let desk = Desk::new();
        let card = asks_and_offers(&desk);
        desk.crash_at(border);
        assert!(!desk.agents().is_empty(), "{border}: the agent goes on");
        desk.run_once();
        assert_eq!(asks(&desk).as_array().map(Vec::len), Some(1), "{border}");
        assert_eq!(
            desk.lines("starts"),
            1,
            "{border}: the agent was not started again"
        );
        desk.ok(&["answer", &card, "blue"]);
        desk.run_once();
        check_landed(&desk, &card);
    }
}

/// A person answers while no daemon runs and the agent that asked still does.
#[test]
fn a_person_answers_while_no_daemon_runs() {
    for border in ["T3", "T4"] {
        let desk = Desk::new();
        let card = asks_and_offers(&desk);
        desk.crash_at(border);
        desk.ok(&["answer", &card, "blue"]);
        let twice = desk.fails(3, &["answer", &card, "red"]);
        assert!(twice.contains("no open question"), "{border}: {twice}");
        desk.run_once();
        check_landed(&desk, &card);
    }
}

/// What an agent wanted is noted before the record hears of it: where the agent is gone before it was told, the question stands.
#[test]
fn a_question_is_not_lost_with_the_agent_that_asked_it() {
    let desk = Desk::new();
    let card = asks_and_offers(&desk);
    desk.crash_at("T2");
    assert_eq!(asks(&desk), json!([]), "the record has not heard of it");
    for line in desk.agents() {
        kill(&line);
    }
    desk.no_agent_is_left();
    desk.run_once();
    assert_eq!(asks(&desk)[0]["question"], "Which colour?");
    desk.ok(&["answer", &card, "blue"]);
    desk.run_once();
    assert_eq!(desk.lines("starts"), 2, "once to ask, once with the answer");
    assert_eq!(
        desk.git(&["show", &format!("{}:colour.txt", branch(&desk))]),
        "blue\n"
    );
    desk.no_process_is_left();
}

fn branch(desk: &Desk) -> String {
    desk.git(&["for-each-ref", "--format=%(refname)", "refs/heads/cs"])
        .trim()
        .to_owned()
}

/// An agent that asks and goes on all the same is ended, and goes on with the answer.
#[test]
fn an_agent_that_asks_again_under_another_name_has_asked_once() {
    let desk = Desk::new();
    let answers = ["first", "same", "other"].map(|name| desk.path("outside").join(name));
    let question = |text: &str, into| json!({"call_tool": {"tool": "ask", "arguments": {"question": text}, "into": into}});
    desk.script(&json!([{"when": "first", "steps": [
        question("Which?", &answers[0]), question("Which?", &answers[1]), question("And what else?", &answers[2]),
        {"final": "I wait."}]}]));
    desk.send("Ask");
    desk.run_once();
    let told = answers.map(|path| fs::read_to_string(path).expect("it was answered"));
    assert_eq!(told[0], told[1]);
    assert!(
        told[2].starts_with("refused: ") && told[2].contains("asked already"),
        "{}",
        told[2]
    );
    assert_eq!(asks(&desk).as_array().map(Vec::len), Some(1));
}

/// Whoever has the token and is not of the agent's tree is not heard, and neither is the tree with a wrong token.
#[test]
fn a_process_that_is_not_of_the_agents_tree_is_not_heard() {
    let desk = Desk::new();
    let gate = desk.gate("runs");
    desk.script(&json!([{"when": "first", "steps": [gate[0], gate[1], {"final": "Done."}]}]));
    desk.send("Wait");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/runs"));
    let execution = fs::read_dir(desk.state().join("executions"))
        .expect("there")
        .flatten()
        .next()
        .expect("one")
        .path();
    desk.until_there(&execution.join("tools/socket"));
    let list = |script: &str| {
        let output = desk.shell(script).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let server = assert_cmd::cargo::cargo_bin("cs-panel");
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"question":"Mine?"}}}"#;
    let greeted = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let said = list(&format!(
        "mkfifo '{fifo}'; {{ printf '%s\\n' '{hello}' '{greeted}' '{call}'; head -c 1 '{fifo}' >/dev/null; true; }} | \
         '{server}' mcp --execution '{dir}' | while read -r line; do echo \"$line\"; case $line in *'\"id\":2'*) echo x > '{fifo}';; esac; done",
        fifo = desk.path("outside/fifo").display(),
        server = server.display(),
        dir = execution.display(),
    ));
    assert!(said.contains("not for this process"), "{said}");
    assert_eq!(asks(&desk), json!([]));
    desk.open_gate("runs");
    desk.until("it is over", || desk.agents().is_empty().then_some(()));
    drop(daemon);
}

/// What is a person's to decide an agent does not decide by accident.
#[test]
fn an_agent_does_not_answer_accept_or_stop() {
    let desk = Desk::new();
    let panel = format!(
        "'{}' --state-dir '{}'",
        assert_cmd::cargo::cargo_bin("cs-panel").display(),
        desk.state().display()
    );
    let out = desk.path("outside/said").display().to_string();
    let tries = [
        "answer x y",
        "land x",
        "stop x",
        "close x",
        "execution dismiss x",
        "rule add x",
        "rule edit x y",
        "rule rm x",
        "attachments rm x y",
    ];
    let script: String = tries
        .iter()
        .map(|what| format!("{panel} {what} 2>>'{out}'; echo \"$?\" >>'{out}.codes'\n"))
        .collect();
    let cleared: String = format!("env -i {panel} stop x 2>>'{out}'; echo \"$?\" >>'{out}.codes'\n");
    let allowed = format!("{panel} cards >/dev/null 2>>'{out}'; echo \"$?\" >>'{out}.codes'\n");
    desk.script(&json!([{"when": "first", "steps": [
        {"run": ["sh", "-c", script + &cleared + &allowed]}, {"final": "Done."}]}]));
    desk.send("Try");
    desk.run_once();
    let codes = fs::read_to_string(desk.path("outside/said.codes")).expect("it tried");
    let said = fs::read_to_string(desk.path("outside/said")).expect("it was told");
    let refused = "3\n".repeat(tries.len() + 1);
    assert_eq!(codes, refused + "0\n", "{said}");
    assert_eq!(
        said.matches("is for a person to decide").count(),
        tries.len() + 1,
        "{said}"
    );
}

#[test]
fn an_agent_sees_what_belongs_to_its_work() {
    let desk = Desk::new();
    let shown = ["card", "turns", "run", "children"];
    let mut steps: Vec<Value> = shown
        .iter()
        .map(|what| json!({"call_tool": {"tool": "show", "arguments": {"what": what}, "into": desk.path("outside").join(what)}}))
        .collect();
    steps.push(json!({"call_tool": {"tool": "report_progress", "arguments": {"text": "half of it"}, "into": desk.path("outside/progress")}}));
    for (name, into) in [("notes.txt", "notes"), ("none", "no-file")] {
        let arguments = json!({"what": "attachment", "name": name});
        steps.push(json!({"call_tool": {"tool": "show", "arguments": arguments, "into": desk.path("outside").join(into)}}));
    }
    steps.push(json!({"call_tool": {"tool": "recover_landing", "into": desk.path("outside/landing")}}));
    steps.push(json!({"final": "Seen."}));
    desk.script(&json!([{"when": "first", "steps": steps}]));
    fs::write(desk.path("outside/notes.txt"), "Mind the gap.").expect("written");
    let notes = desk.path("outside/notes.txt").display().to_string();
    let sent = desk.json(&["send", "--attach", &notes, "Look around"]);
    let card = sent["card"].as_str().expect("an id").to_owned();
    desk.run_once();
    let told = |name: &str| fs::read_to_string(desk.path("outside").join(name)).expect("it was answered");
    assert!(
        told("card").contains("Look around") && told("card").contains("lands on: main"),
        "{}",
        told("card")
    );
    assert!(
        told("card").contains("attachment: notes.txt (text/plain, 13 bytes)"),
        "{}",
        told("card")
    );
    assert!(
        told("notes").contains("It is in /") && told("notes").ends_with("\n\nMind the gap."),
        "{}",
        told("notes")
    );
    assert!(
        told("no-file").contains("no attachment `none`. It has: notes.txt"),
        "{}",
        told("no-file")
    );
    assert!(
        told("turns").contains("#1 ") && told("turns").contains("Look around"),
        "{}",
        told("turns")
    );
    assert!(
        told("run").contains("state: running, attempt 1"),
        "{}",
        told("run")
    );
    assert_eq!(told("children"), "You have sent no runs.");
    assert_eq!(told("progress"), "Noted.");
    assert!(told("landing").contains("offer_landing"), "{}", told("landing"));
    assert_eq!(desk.said_by(&card, "agent"), ["Seen."]);
}

/// How far an agent says it is, people see while it works.
#[test]
fn what_an_agent_reports_is_shown_while_it_works() {
    let desk = Desk::new();
    let gate = desk.gate("reported");
    let report =
        json!({"call_tool": {"tool": "report_progress", "arguments": {"text": "half of it is done"}}});
    desk.script(&json!([{"when": "first", "steps": [report, gate[0], gate[1], {"final": "Done."}]}]));
    let card = desk.send("Work");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/reported"));
    let shown = desk.ok(&["show", &card]);
    assert!(shown.contains("it says: half of it is done"), "{shown}");
    desk.open_gate("reported");
    desk.no_agent_is_left();
    desk.until("the run is over", || {
        (desk.card(&card)["runs"][0]["state"] == "finished").then_some(())
    });
    assert!(!desk.ok(&["show", &card]).contains("it says"));
    drop(daemon);
}

/// Scenario 25: a sign-in that fails after the agent has asked is a failed sign-in: its route is parked, and the question stands.
#[test]
fn scenario_25_a_failed_sign_in_after_a_question_is_one() {
    let desk = desk_with("claude");
    let (out, state) = (desk.path("outside"), desk.state());
    let script = json!([{"when": "any", "steps": [{"call_tool": {"tool": "ask", "arguments": {"question": "Which?"}, "into": out.join("told")}}]}]);
    fs::write(desk.path("script.json"), script.to_string()).expect("written");
    let start = json!({"type": "start", "protocol": 1, "card": "c", "run": "r", "epoch": 1, "wake": "first", "prompt": "p", "session": null, "answer": null});
    fs::write(out.join("start"), format!("{start}\n")).expect("written");
    fs::write(
        out.join("complaint"),
        include_str!("../../crates/cs-harness/tests/captures/claude/auth-r0.jsonl"),
    )
    .expect("written");
    let panel = assert_cmd::cargo::cargo_bin("cs-panel");
    does(
        &desk,
        &format!(
            r#"dir=$(ls -d '{state}'/executions/*)
CS_PANEL_TOOLS="[\"{panel}\",\"mcp\",\"--execution\",\"$dir\"]" '{panel}' __agent-script '{script}' <"$out/start" >/dev/null || exit 7
cat "$out/complaint"; exit 1"#,
            state = state.display(),
            panel = panel.display(),
            script = desk.path("script.json").display(),
        ),
    );
    let card = desk.send("Do it");
    let said = desk.run_once_saying();
    let told = fs::read_to_string(out.join("told")).expect("it was answered");
    assert!(told.contains("End your turn"), "{told}");
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["failure"], "authentication", "{detail}");
    assert_eq!(asks(&desk)[0]["question"], "Which?", "{detail}");
    let agents = desk.ok(&["agents"]);
    assert!(agents.contains("parked"), "{agents} {said}");
    desk.no_process_is_left();
}

/// As Claude Code tells it.
#[test]
fn an_agent_that_did_not_reach_its_tools_is_told_of_once() {
    let desk = Desk::new();
    let said = desk.path("outside/said");
    let begun = json!({"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.332",
        "mcp_servers": [{"name": "panel", "status": "failed"}, {"name": "mine", "status": "failed"}]});
    let over = json!({"type": "result", "subtype": "success", "is_error": false, "result": "Done.", "session_id": "s"});
    fs::write(&said, format!("{begun}\n{over}\n")).expect("written");
    let script = format!(
        "case \"$1 $2\" in --version*) echo 2.1.332; exit ;; 'auth status') echo '{{\"loggedIn\": true}}'; exit ;; esac; cat >/dev/null; cat '{}'",
        said.display()
    );
    let add = [
        "agent",
        "add",
        "claude",
        "--harness",
        "claude",
        "--permissions",
        "full",
        "--",
    ];
    desk.ok(&[&add[..], &["sh", "-c", &script, "claude"]].concat());
    desk.ok(&["agent", "default", "claude"]);
    let card = desk.send("Work");
    let told = desk.run_once_saying();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."], "{told}");
    let lines = told.lines().filter(|line| line.contains("without the tools"));
    assert_eq!(lines.count(), 1, "{told}");
}
