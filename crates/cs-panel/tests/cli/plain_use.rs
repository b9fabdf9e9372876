//! What the commands that need no daemon do and say.

use std::fs;

use insta::assert_snapshot;

use crate::desk::Desk;

#[test]
fn a_message_becomes_a_card_on_the_repository_around_it() {
    let desk = Desk::with_repository();
    desk.write("work/draft", "not committed\n");
    let mut shots = desk.run(&["send", "Fix the parser\nIt drops the last line."]);
    shots += &desk.run(&["codebase", "list"]);
    shots += &desk.run(&["cards"]);
    let output = desk.command(&["cards", "--json"]).output().expect("it runs");
    let cards: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let card = cards[0]["card"]["id"].as_str().expect("an id").to_owned();
    shots += &desk.run(&["tail", &card]);
    shots += &desk.run(&["answer", &card, "yes"]);
    shots += &desk.run(&["diff", &card]);
    shots += &desk.run(&["land", &card]);
    shots += &desk.run_with(&["send", "--card", &card], "And the first\n");
    shots += &desk.run(&["send", "--card", &card, "--agent", "other", "And the last"]);
    shots += &desk.run(&["send", "--codebase", "work", "Another"]);
    shots += &desk.run(&["codebase", "add", ".", "--name", "other"]);
    assert_snapshot!("message", shots);
}

#[test]
fn without_a_branch_checked_out_the_one_that_the_work_starts_from_is_named() {
    let desk = Desk::with_repository();
    desk.git(&["checkout", "--quiet", "--detach"]);
    let mut shots = desk.run(&["send", "Start from main"]);
    desk.git(&["branch", "--quiet", "-m", "main", "trunk"]);
    shots += &desk.run(&["send", "Start from nothing"]);
    shots += &desk.run(&["codebase", "add", "."]);
    shots += &desk.run(&["cards"]);
    assert_snapshot!("detached", shots);
}

#[test]
fn text_of_others_cannot_write_to_the_terminal() {
    let desk = Desk::with_agent();
    let shots =
        desk.run_with(&["send", "-"], "red \u{1b}[31m\u{7} and\u{9b}2J back\n") + &desk.run(&["cards"]);
    assert!(!shots.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{shots:?}");
    assert_snapshot!("terminal", shots);
}

#[test]
fn a_failed_agent_is_shown_with_its_last_words() {
    let desk = Desk::new();
    let fails = [
        "agent",
        "add",
        "fails",
        "--",
        "sh",
        "-c",
        "seq 250; echo no key >&2; exit 7",
    ];
    desk.command(&fails).assert().success();
    desk.command(&["send", "Try it"]).assert().success();
    desk.command(&["run", "--once"]).assert().success();
    let output = desk.command(&["cards", "--json"]).output().expect("it runs");
    let cards: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let card = cards[0]["card"]["id"].as_str().expect("an id").to_owned();
    let shown = desk.run(&["show", &card]);
    assert!(shown.contains("state  tries again in "), "{shown}");
    let is_to_the_second = |line: &str| line.ends_with(" UTC)") && !line.contains('.');
    assert!(
        shown
            .lines()
            .any(|line| line.contains("  goes on in ") && is_to_the_second(line)),
        "{shown}"
    );
    assert!(
        shown.contains("the agent's command ended with exit code 7\n"),
        "{shown}"
    );
    assert!(
        shown.contains("its standard error ends with:\n      no key\n"),
        "{shown}"
    );
    assert!(shown.contains("stderr.spool"), "{shown}");
    let now = desk.run(&["tail", &card]);
    for shown in [&shown, &now] {
        assert!(shown.contains(", waits for the retry in "), "{shown}");
        assert!(!shown.contains("worked on"), "{shown}");
    }
    assert!(
        now.contains("\n  attempt 1 of run [ID] (failed) said:\n    | 51\n"),
        "{now}"
    );
    assert!(now.contains("\n    | 250\n    50 lines before these: "), "{now}");
    assert!(now.contains("transcript"), "{now}");
    let all = desk.run(&["tail", "--all", &card]);
    assert!(all.contains("(failed) said:\n    | 1\n    | 2\n"), "{all}");
    assert!(all.contains("\n    all of it is in [DIR]/"), "{all}");
}

#[test]
fn a_pause_says_how_it_ends() {
    let desk = Desk::new();
    let mut shots = desk.run(&["pause", "--reason", "upgrade"]);
    shots += &desk.run(&["pause", "--machine"]);
    let resumed = desk.run(&["resume", "--machine"]);
    shots += resumed.split(" since ").next().expect("a part");
    shots += "\n";
    shots += &desk.run(&["resume"]);
    shots += &desk.run(&["resume"]);
    assert_snapshot!("pause", shots);
}

#[test]
fn nothing_there_is_said_on_standard_error() {
    let desk = Desk::new();
    let mut shots = String::new();
    for args in [
        &["cards"][..],
        &["cards", "--json"],
        &["asks"],
        &["asks", "--json"],
        &["codebase", "list"],
    ] {
        shots += &desk.run(args);
    }
    assert_snapshot!("nothing", shots);
}

/// Invariant 14.
#[test]
fn local_paths_stay_out_of_the_record() {
    let desk = Desk::with_repository();
    desk.command(&["send", "hello"]).assert().success();
    let state = desk.path("home/.local/state/cs-panel");
    let needle = desk.path("work");
    let needle = needle.to_str().expect("text").as_bytes();
    for entry in fs::read_dir(state).expect("there").flatten() {
        if entry.file_name().to_string_lossy().starts_with("record.db") {
            let bytes = fs::read(entry.path()).expect("readable");
            assert!(
                !bytes.windows(needle.len()).any(|part| part == needle),
                "{:?}",
                entry.file_name()
            );
        }
    }
}

#[test]
fn commands_at_once_lose_nothing() {
    let desk = Desk::with_repository();
    std::thread::scope(|scope| {
        for at in 0..8 {
            let desk = &desk;
            scope.spawn(move || {
                desk.command(&["send", &format!("message {at}")])
                    .assert()
                    .success()
            });
        }
    });
    let output = desk.command(&["cards", "--json"]).output().expect("it runs");
    let cards: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(cards.as_array().map(Vec::len), Some(8));
    let output = desk
        .command(&["codebase", "list", "--json"])
        .output()
        .expect("it runs");
    let codebases: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(codebases.as_array().map(Vec::len), Some(1), "{codebases}");
}
