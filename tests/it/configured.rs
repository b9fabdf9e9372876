//! What a person changes in the configuration while a daemon runs: the real binary, agents that are shell scripts.

use std::fs;

use crate::desk::{Daemon, Desk};

const ANSWER: &str = r#"{"type":"thread.started","thread_id":"00000000-0000-4000-8000-00000000000a"}
{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}"#;

/// A program that answers as Codex does.
fn codex(desk: &Desk) -> Vec<String> {
    let answer = desk.path("outside/answer");
    fs::write(&answer, format!("{ANSWER}\n")).expect("written");
    let script = format!(
        "[ \"$1\" = --version ] && exec echo codex-cli 0.171.0; cat >/dev/null; cat '{}'",
        answer.display()
    );
    ["sh", "-c", &script, "codex"].map(str::to_owned).to_vec()
}

fn add(desk: &Desk, name: &str) {
    let command = codex(desk);
    let mut args = vec!["agent", "add", name, "--harness", "codex", "--"];
    args.extend(command.iter().map(String::as_str));
    desk.ok(&args);
}

fn until_answered(desk: &Desk, card: &str) {
    desk.until("it has answered", || {
        let state = desk.card(card)["card"]["state"].clone();
        assert_ne!(state, "failed", "{}", desk.card(card));
        (desk.said_by(card, "agent") == ["Done."]).then_some(())
    });
}

fn until_said(desk: &Desk, words: &str) {
    desk.until(words, || {
        let log = fs::read_to_string(desk.path("daemon.log")).unwrap_or_default();
        log.contains(words).then_some(())
    });
}

fn waiting(desk: &Desk) -> Daemon {
    let daemon = desk.daemon();
    until_said(desk, "mode ");
    daemon
}

#[test]
fn a_daemon_that_runs_learns_of_a_new_agent_and_of_what_it_may_do() {
    let desk = Desk::new();
    let daemon = waiting(&desk);
    add(&desk, "late");
    let sent = desk.json(&["send", "--agent", "late", "--permissions", "full", "Do it"]);
    until_answered(&desk, sent["card"].as_str().expect("a card"));
    daemon.interrupt(&desk);
}

#[test]
fn a_broken_configuration_stops_no_daemon_and_changes_no_agent() {
    let desk = Desk::new();
    add(&desk, "codex");
    desk.ok(&["send", "--permissions", "full", "Do it"]);
    let path = desk.path("home/.config/cs-panel/config.toml");
    let good = fs::read_to_string(&path).expect("it is there");
    let other = desk.path("other.toml");
    fs::write(&other, &good).expect("written");
    let other = other.display().to_string();
    let send = || {
        let sent = desk.json(&["--config", &other, "send", "Do it"]);
        sent["card"].as_str().expect("a card").to_owned()
    };
    let daemon = waiting(&desk);
    fs::write(&path, "slots = \"two\"\n").expect("written");
    until_said(&desk, "the agents stay as they were");
    let while_broken = send();
    let log = fs::read_to_string(desk.path("daemon.log")).expect("it is there");
    assert!(log.contains("config.toml:1:9"), "it says where: {log}");
    let answered = |card: &str| {
        desk.until("it has answered", || {
            let shown = desk.json(&["--config", &other, "show", card]);
            (shown["runs"][0]["state"] == "finished").then_some(())
        });
    };
    answered(&while_broken);
    fs::remove_file(&path).expect("removed");
    answered(&send());
    let made = desk.plain("mkfifo").arg(&path).status().expect("it runs");
    assert!(made.success());
    answered(&send());
    let aside = path.with_extension("new");
    fs::write(&aside, good.replace("[agents.codex]", "[agents.renamed]")).expect("written");
    fs::rename(&aside, &path).expect("renamed");
    until_said(&desk, "again: its agents hold");
    let kept = send();
    let renamed = desk.json(&["send", "--agent", "renamed", "--permissions", "full", "Do it"]);
    // It was sent later: a daemon that still had the other agent would have begun with that card.
    until_answered(&desk, renamed["card"].as_str().expect("a card"));
    assert!(desk.said_by(&kept, "agent").is_empty(), "its agent is gone");
    let log = daemon.interrupt(&desk);
    assert_eq!(log.matches("the agents stay as they were").count(), 3, "{log}");
    assert!(log.contains("it is a named pipe; put a plain file"), "{log}");
}
