//! Standing rules, from the command line to what an agent is told.

use std::fs;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::desk::Desk;

/// A desk whose agent says what it was told.
fn echoing() -> Desk {
    let desk = Desk::new();
    desk.script(&json!([{"when": "any", "steps": [{"final": "{prompt}"}]}]));
    desk.ok(&["codebase", "add"]);
    desk
}

fn added(desk: &Desk, args: &[&str]) -> String {
    let rule: Value = desk.json(&[&["rule", "add"], args].concat());
    rule["id"].as_str().expect("an id").to_owned()
}

/// What the agent of a card is told at its next start.
fn told(desk: &Desk, card: &str, message: &str) -> String {
    desk.ok(&["send", "--card", card, message]);
    desk.run_once();
    desk.said_by(card, "agent").pop().expect("it was told something")
}

#[test]
fn a_rule_reaches_the_next_start_and_so_does_that_it_is_gone() {
    let desk = echoing();
    let card = desk.send("Begin");
    desk.run_once();
    let first = desk.said_by(&card, "agent").pop().expect("it was told something");
    assert!(!first.contains("rules"), "{first}");

    let here = added(&desk, &["--codebase", "repo", "Use tabs in 3 places."]);
    let all = added(&desk, &["Be short."]);
    let second = told(&desk, &card, "Go on");
    let (short, tabs) = (second.find("Be short."), second.find("Use tabs in 3 places."));
    assert!(short.is_some() && short < tabs, "{second}");
    let shown = desk.ok(&["show", &card]);
    let line = format!("it was told the rules {} version 1", &all[all.len() - 8..]);
    assert!(shown.contains(&line), "{shown}");

    let edited = desk.json(&["rule", "edit", &here, "Use spaces."]);
    assert_eq!(
        (&edited["version"], &edited["codebase_name"]),
        (&json!(2), &json!("repo"))
    );
    desk.ok(&["rule", "rm", &all]);
    let third = told(&desk, &card, "And on");
    assert!(
        third.contains("Use spaces.") && third.contains("take the place of all"),
        "{third}"
    );
    desk.ok(&["rule", "rm", &here]);
    let fourth = told(&desk, &card, "To the end");
    assert!(fourth.contains("There are none now."), "{fourth}");
    let news = fourth
        .rsplit("End of the conversation so far")
        .next()
        .expect("a part");
    assert!(!news.contains("Use spaces."), "{fourth}");
    assert_eq!(desk.json(&["rule", "list"]), json!([]));
    desk.no_process_is_left();
}

#[test]
fn a_list_of_rules_is_in_the_order_in_which_agents_are_told() {
    let desk = echoing();
    fs::write(desk.path("outside/words"), "From a file.\n").expect("written");
    let file = desk.path("outside/words").display().to_string();
    added(&desk, &["--codebase", "repo", "Here."]);
    added(&desk, &["--file", &file]);
    added(&desk, &["Everywhere."]);
    let list = desk.ok(&["rule", "list"]);
    let heads: Vec<&str> = list.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(heads, ["  From a file.", "  Everywhere.", "  Here."], "{list}");
    assert_eq!(
        desk.json(&["rule", "list", "--codebase", "repo"])
            .as_array()
            .map(Vec::len),
        Some(3)
    );
}

#[test]
fn what_is_no_rule_is_refused_and_nothing_is_written() {
    let desk = echoing();
    let outside = |name: &str| desk.path("outside").join(name).display().to_string();
    let (pipe, long, folder, bytes) = (outside("pipe"), outside("long"), outside(""), outside("bytes"));
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("made");
    fs::write(&long, "x".repeat((64 << 10) + 1)).expect("written");
    fs::write(&bytes, [0xff, 0xfe]).expect("written");
    let many = "x".repeat((64 << 10) + 1);
    let cases: [(i32, &[&str], &str); 10] = [
        (2, &["rule", "add", " "], "the rule is empty"),
        (2, &["rule", "add", &many], "longer than 65536 bytes"),
        (
            2,
            &["rule", "add", "--file", &long],
            "longer than the 65536 bytes",
        ),
        (2, &["rule", "add", "--file", &pipe], "it is a named pipe"),
        (2, &["rule", "add", "--file", &folder], "it is a directory"),
        (2, &["rule", "add", "--file", &bytes], "is not UTF-8"),
        (2, &["rule", "add", "--file", &outside("none")], "cannot be read"),
        (
            1,
            &["rule", "add", "--codebase", "elsewhere", "Never"],
            "there is no codebase `elsewhere`",
        ),
        (
            1,
            &["rule", "edit", "deadbeef", "Never"],
            "there is no rule `deadbeef`",
        ),
        (1, &["rule", "rm", "deadbeef"], "there is no rule `deadbeef`"),
    ];
    for (code, args, expected) in cases {
        let said = desk.fails(code, args);
        assert!(said.contains(expected) && said.len() < 1000, "{args:?}: {said}");
    }
    assert_eq!(desk.json(&["rule", "list"]), json!([]));
}
