//! What a look at an agent program finds before it is started: the real binary, and shell scripts in the place of Claude Code.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::desk::Desk;

const SIGNED_IN: &str = "echo '{\"loggedIn\": true}'";
const WORK: &str = r#"cat >/dev/null; echo . >>OUT/starts
say() { echo "$1"; }
say '{"type":"system","subtype":"init","session_id":"00000000-0000-4000-8000-00000000000a","claude_code_version":"2.1.332","mcp_servers":[]}'
say '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"session_id":"00000000-0000-4000-8000-00000000000a","total_cost_usd":0.02,"usage":{"input_tokens":10,"output_tokens":2},"permission_denials":[],"terminal_reason":"completed","result":"Done."}'"#;

fn program(desk: &Desk) -> PathBuf {
    desk.path("outside/agent")
}

/// Says what the program does when it is asked for its version and for its sign-in; otherwise it works.
fn answers(desk: &Desk, version: &str, sign_in: &str) {
    let work = WORK.replace("OUT", &desk.path("outside").display().to_string());
    let script = format!(
        "#!/bin/sh\ncase \"$1 $2\" in\n--version*) {version}; exit ;;\n'auth status') {sign_in}; exit ;;\nesac\n{work}\n"
    );
    fs::write(program(desk), script).expect("written");
    fs::set_permissions(program(desk), fs::Permissions::from_mode(0o755)).expect("made executable");
}

fn desk() -> Desk {
    set_up(Desk::new())
}

/// A desk with a program that may sleep in place of an answer: only that is not waited for.
fn desk_for(answer: &str) -> Desk {
    let mut desk = Desk::new();
    if answer.contains("sleep") {
        desk.probe_seconds = 1;
    }
    set_up(desk)
}

fn set_up(desk: Desk) -> Desk {
    answers(&desk, "echo '2.1.332 (Claude Code)'", SIGNED_IN);
    let program = program(&desk).display().to_string();
    desk.ok(&[
        "agent",
        "add",
        "real",
        "--harness",
        "claude",
        "--permissions",
        "full",
        "--",
        &program,
    ]);
    desk
}

fn listed(desk: &Desk) -> Value {
    desk.json(&["agents"])[0].clone()
}

/// Plays that an agent cannot be used as it is: one card is told, with the cure; the other one waits; nothing starts, also once
/// it is mended, until a person says so.
fn is_parked_until_opened(desk: &Desk, what: &str, told: &str, class: &str) {
    let card = desk.send("Do it");
    let said = desk.run_once_saying();
    let other = desk.send("Do that");
    let later = desk.run_once_saying();
    let notice = "takes no work on this machine";
    assert_eq!(said.matches(notice).count(), 1, "{said}");
    assert_eq!(later.matches(notice).count(), 0, "once is enough: {later}");
    assert_eq!(desk.lines("starts"), 0, "nothing was given work");
    let run = desk.card(&card)["runs"][0].clone();
    let because = run["failed_because"].as_str().expect("a reason");
    assert!(because.contains(told), "{because}");
    assert!(
        !because.contains(&desk.path("").display().to_string()),
        "no place of this machine: {because}"
    );
    assert_eq!(
        (run["failure"].as_str(), run["tries"].as_u64()),
        (Some(class), Some(0)),
        "{run}"
    );
    assert!(
        desk.ok(&["show", &card]).contains(told),
        "the card says what to do"
    );
    assert!(
        !desk.ok(&["show", &card]).contains("goes on now"),
        "it does not while its agent is parked"
    );
    let row = desk.ok(&["cards"]);
    assert!(
        row.contains("see `cs-panel agents`)") && !row.contains(told),
        "{row}"
    );
    let refused = desk.fails(3, &["close", &card]);
    assert!(
        refused.contains("no agent works on card") && refused.contains("cs-panel stop"),
        "{refused}"
    );
    let agent = listed(desk);
    assert_eq!(agent["hindrance"]["what"], what, "{agent}");
    assert_eq!(agent["parked"]["class"], class, "{agent}");
    assert!(agent["parked"]["until"].is_null(), "{agent}");
    let all = desk.ok(&["agents"]);
    assert!(all.contains("parked"), "{all}");

    mend(desk);
    desk.run_once();
    assert_eq!(desk.lines("starts"), 0, "nobody has said that it is mended");
    desk.ok(&["retry", &card]);
    desk.run_once();
    for card in [&card, &other] {
        assert_eq!(
            desk.said_by(card, "agent"),
            ["Done."],
            "a success opens the route"
        );
    }
    assert!(listed(desk)["parked"].is_null());
    desk.no_process_is_left();
}

fn mend(desk: &Desk) {
    let program = program(desk);
    if program.is_dir() {
        fs::remove_dir(&program).expect("removed");
    } else if program.exists() {
        fs::remove_file(&program).expect("removed");
    }
    answers(desk, "echo '2.1.332 (Claude Code)'", SIGNED_IN);
}

#[test]
fn an_agent_is_listed_with_its_version_and_its_sign_in() {
    let desk = desk();
    let agent = listed(&desk);
    assert_eq!(agent["version"], "2.1.332", "{agent}");
    assert_eq!(agent["sign_in"], "signed_in", "{agent}");
    assert!(
        agent["hindrance"].is_null() && agent["parked"].is_null(),
        "{agent}"
    );
    let all = desk.ok(&["agents"]);
    assert!(all.contains("2.1.332") && all.contains("signed in"), "{all}");
}

/// FB-4, FB-5.
#[test]
fn an_agent_that_is_not_installed_parks_its_route_until_a_person_opens_it() {
    let desk = desk();
    fs::remove_file(program(&desk)).expect("removed");
    let told = "is not installed on this machine: there is no program `agent`";
    is_parked_until_opened(&desk, "not_installed", told, "invalid_request");
}

/// A command of a person's own is not looked at before it is started.
#[test]
fn a_command_that_is_not_there_is_named_with_where_it_was_looked_for() {
    let desk = desk();
    let program = program(&desk).display().to_string();
    desk.ok(&["agent", "add", "plain", "--", &program]);
    fs::remove_file(&program).expect("removed");
    let sent = desk.json(&["send", "--agent", "plain", "Do it"]);
    let card = sent["card"].as_str().expect("a card");
    let said = desk.run_once_saying();
    assert!(
        said.contains(&format!("agent plain: there is no program {program}")),
        "{said}"
    );
    let run = desk.card(card)["runs"][0].clone();
    let because = run["failed_because"].as_str().expect("a reason");
    let told = "there is no program `agent` where `cs-panel run` looks for it (the path that is its `command`); install it";
    assert!(because.starts_with(told), "{because}");
    assert!(!because.contains(&program), "no place of this machine: {because}");
}

/// FB-4, FB-5.
#[test]
fn an_agent_that_is_too_old_parks_its_route_until_a_person_opens_it() {
    let desk = desk();
    answers(&desk, "echo '1.0.128 (Claude Code)'", SIGNED_IN);
    let told = "Claude Code 1.0.128 on this machine is too old, 2.0.0 or newer is expected: update it";
    is_parked_until_opened(&desk, "too_old", told, "invalid_request");
}

/// FB-4, FB-5.
#[test]
fn an_agent_that_is_not_signed_in_parks_its_route_until_a_person_opens_it() {
    let desk = desk();
    answers(
        &desk,
        "echo '2.1.332 (Claude Code)'",
        "echo '{\"loggedIn\": false}'; exit 1",
    );
    let told = "is not signed in on this machine: sign in with `claude auth login`";
    is_parked_until_opened(&desk, "not_signed_in", told, "authentication");
}

/// It may need no sign-in, or have one where nobody looks: a person who opens its route is believed, for all cards from then on.
#[test]
fn an_agent_that_works_though_it_says_that_it_is_not_signed_in_is_parked_once() {
    for open in ["retry", "unpark"] {
        let desk = desk();
        answers(
            &desk,
            "echo '2.1.332 (Claude Code)'",
            "echo '{\"loggedIn\": false}'; exit 1",
        );
        let first = desk.send("Do it");
        desk.run_once();
        let second = desk.send("Do that");
        desk.run_once();
        assert_eq!(desk.lines("starts"), 0, "nobody has opened it");
        match open {
            "retry" => desk.ok(&["retry", &first]),
            _ => desk.ok(&["agent", "unpark", "real"]),
        };
        desk.run_once();
        let third = desk.send("And that");
        desk.run_once();
        for card in [&first, &second, &third] {
            assert_eq!(desk.said_by(card, "agent"), ["Done."], "{open}");
        }
        assert!(listed(&desk)["parked"].is_null());
    }
}

#[test]
fn what_is_no_program_is_not_started_and_nobody_waits_for_it() {
    for make in ["mkdir", "mkfifo"] {
        let desk = desk();
        fs::remove_file(program(&desk)).expect("removed");
        let made = desk.plain(make).arg(program(&desk)).status().expect("it runs");
        assert!(made.success());
        let told = "`agent` is no program that may be executed";
        is_parked_until_opened(&desk, "not_executable", told, "invalid_request");
    }
}

/// Nothing is known then, which is no reason to give it no work.
#[test]
fn a_program_that_does_not_tell_its_version_is_started_and_leaves_nothing() {
    for version in [
        "sleep 1000",
        "echo \"\u{1b}]0;x\u{7} what do you mean?\"; exit 3",
        "yes no version",
        "setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000 & exit 0",
        "kill -9 $$",
    ] {
        let desk = desk_for(version);
        answers(&desk, version, SIGNED_IN);
        let agent = listed(&desk);
        assert!(
            agent["version"].is_null() && agent["hindrance"].is_null(),
            "{version}: {agent}"
        );
        desk.no_process_is_left();
        let card = desk.send("Do it");
        desk.run_once();
        assert_eq!(desk.said_by(&card, "agent"), ["Done."], "{version}");
        assert_eq!(desk.lines("starts"), 1, "{version}");
        desk.no_process_is_left();
    }
}

#[test]
fn a_sign_in_that_cannot_be_told_stands_in_nobodys_way() {
    for sign_in in [
        "sleep 1000",
        "echo Hello!",
        "setsid sleep 1000 & echo '{\"loggedIn\": 1}'",
    ] {
        let desk = desk_for(sign_in);
        answers(&desk, "echo '2.1.332 (Claude Code)'", sign_in);
        let card = desk.send("Do it");
        desk.run_once();
        assert_eq!(desk.said_by(&card, "agent"), ["Done."], "{sign_in}");
        let agent = listed(&desk);
        assert_eq!(agent["sign_in"], "cannot_be_told", "{sign_in}: {agent}");
        desk.no_process_is_left();
    }
}
