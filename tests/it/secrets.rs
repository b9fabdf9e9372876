//! What an agent is given and what its machine is stays on its machine, in a whole life of cards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;

use crate::desk::Desk;
use crate::record::texts;

/// It is written in other ways in JSON, in a URL and in base64.
const VALUE: &str = "pa55 \"wörd\"/x+y?";
const BASE64: &str = "cGE1NSAid8O2cmQiL3greT8=";
const IN_URL: &str = "pa55%20%22w%C3%B6rd%22%2Fx%2By%3F";
const IN_JSON: &str = r#"pa55 \"wörd\"/x+y?"#;

fn set_secret(desk: &Desk) {
    desk.ok(&["codebase", "add", "."]);
    fs::write(desk.path("outside/value"), VALUE).expect("written");
    let mut set = desk.panel(&["secret", "set", "repo", "TOKEN"]);
    let set = set
        .stdin(fs::File::open(desk.path("outside/value")).expect("there"))
        .output();
    let set = set.expect("it runs");
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
}

/// Everything that must be on no record: the secret in its forms, and the places of this machine.
fn private(desk: &Desk) -> Vec<String> {
    let root = fs::canonicalize(desk.path("")).expect("there");
    let places = ["", "state", "home", "repo", "outside"].map(|name| desk.path(name));
    let places = places.into_iter().chain([root]);
    let places = places.map(|path: PathBuf| path.display().to_string().trim_end_matches('/').to_owned());
    let forms = [
        VALUE,
        BASE64,
        IN_URL,
        IN_JSON,
        "wörd",
        "w\\u00f6rd",
        "GE1NSAid8O2",
    ];
    places.chain(forms.map(str::to_owned)).collect()
}

/// Nothing of it is in any text of any table. Invariant 14.
fn check_record(desk: &Desk) {
    let texts = texts(&desk.state());
    assert!(
        texts
            .iter()
            .any(|(place, text)| place == "turns.body" && text.contains("[secret TOKEN]")),
        "{texts:?}"
    );
    for word in private(desk) {
        for (place, text) in &texts {
            assert!(!text.contains(&word), "{place} has `{word}`: {text}");
        }
    }
}

/// Sends a message, and lets the daemon carry it out.
fn carry_out(desk: &Desk, message: &str) -> String {
    let card = desk.send(message);
    desk.run_once();
    card
}

/// Agents answer, ask, offer, fail, are tried again and land, with a secret and the places of their machine in every word.
#[test]
fn no_secret_and_no_place_is_on_the_record_after_a_whole_life() {
    let desk = Desk::new();
    set_secret(&desk);
    let secret = desk.path("outside/secret");
    let get = json!({"call_tool": {"tool": "get_secret", "arguments": {"name": "TOKEN"}, "into": secret}});
    let missing = json!({"call_tool": {"tool": "get_secret", "arguments": {"name": "OTHER"}, "into": desk.path("outside/missing")}});
    let (home, state) = (
        desk.path("home").display().to_string(),
        desk.state().display().to_string(),
    );
    let all = format!("{VALUE} | {BASE64} | {IN_URL} | {{\"x\":\"{IN_JSON}\"}} | {home}/x {state}/y");
    let tell_all = format!("printf '%s\\n' \"$PWD\" '{all}' >&2; exit 1");
    desk.script(&json!([
        {"when": "first", "contains": "zebra", "steps": [get, missing,
            {"call_tool": {"tool": "report_progress", "arguments": {"text": all}}},
            {"call_tool": {"tool": "ask", "arguments": {"question": format!("May I use {all}?"), "choices": [format!("yes, {VALUE}"), "no"]}}},
            {"final": format!("I wait with {all}.")}]},
        {"when": "answer", "steps": [get,
            {"write_file": {"path": "made.txt", "text": "made\n"}}, {"commit": "Make it"},
            {"call_tool": {"tool": "offer_landing", "arguments": {"summary": format!("Made with {all}"), "evidence": format!("tried with {BASE64}")}}},
            {"final": format!("Made with {all}.")}]},
        {"when": "any", "contains": "yak", "steps": [get, {"final": format!("It is pa55 \"wö\nrd\"/x+y?, and\n{all}")}]},
        {"when": "any", "contains": "quail", "steps": [get, {"ask": {"question": all, "choices": [all]}}]},
        {"when": "any", "contains": "otter", "steps": [get, {"write_file": {"path": "offered.txt", "text": "x\n"}}, {"commit": "Offer"},
            {"offer_landing": {"summary": all, "message": format!("Offer {VALUE}")}}]},
        {"when": "any", "contains": "falcon", "steps": [get, {"say": all}, {"run": ["sh", "-c", tell_all]}]}]));
    let asking = carry_out(&desk, "A zebra");
    assert_eq!(fs::read_to_string(&secret).expect("it was given"), VALUE);
    let refused = fs::read_to_string(desk.path("outside/missing")).expect("it was told");
    assert!(refused.contains("there is no secret `OTHER`"), "{refused}");
    desk.ok(&["answer", &asking, "no"]);
    desk.run_once();
    desk.ok(&["land", &asking]);
    desk.run_once();
    assert_eq!(desk.git(&["show", "main:made.txt"]), "made\n");
    let saying = carry_out(&desk, "A yak");
    let said = desk.said_by(&saying, "agent").concat();
    assert!(
        said.starts_with("It is [secret TOKEN], and\n"),
        "{}",
        desk.card(&saying)
    );
    carry_out(&desk, "A quail");
    let offering = carry_out(&desk, "An otter");
    desk.ok(&["codebase", "set", "repo", "--verify", "pwd; echo $HOME; exit 1"]);
    desk.ok(&["land", &offering]);
    desk.run_once();
    let failing = carry_out(&desk, "A falcon");
    desk.ok(&["retry", &failing]);
    desk.run_once();
    desk.ok(&["stop", &failing]);
    desk.ok(&["codebase", "set", "repo", "--setup", "pwd; echo $HOME; exit 1"]);
    carry_out(&desk, "A yak where nothing can be set up");
    desk.ok(&["codebase", "set", "repo", "--no-setup", "--no-verify"]);
    for name in ["denied", "missing"] {
        let program = desk.path("outside").join(name);
        fs::write(&program, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
        desk.ok(&["agent", "add", name, "--", &program.display().to_string()]);
        match name {
            "denied" => fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).expect("set"),
            _ => fs::remove_file(&program).expect("removed"),
        }
        desk.ok(&["send", "--agent", name, "Do what cannot be started"]);
        desk.run_once();
    }
    check_record(&desk);
}

/// What the daemon was started with reaches an agent by a list only.
#[test]
fn an_agent_gets_no_variable_that_is_not_on_the_list() {
    let desk = Desk::new();
    let variables = desk.path("outside/variables");
    desk.script(&json!([{"when": "any", "steps": [
        {"run": ["sh", "-c", format!("env > '{}'", variables.display())]}, {"final": "Done."}]}]));
    desk.send("Look around");
    let mut run = desk.panel(&["run", "--once"]);
    let run = run
        .env("PROVIDER_API_KEY", "not for it")
        .env("CS_PANEL_SECRETS", "file")
        .env("LC_TIME", "C")
        .output();
    assert!(run.expect("it runs").status.success());
    let seen = fs::read_to_string(&variables).expect("it ran");
    assert!(seen.lines().any(|line| line == "LC_TIME=C"), "{seen}");
    for name in ["PROVIDER_API_KEY", "CS_PANEL_SECRETS", "CS_PANEL_PROBE_SECONDS"] {
        assert!(!seen.contains(name), "{name}: {seen}");
    }
}
