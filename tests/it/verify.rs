//! The verify command of a codebase: it passes on what lands, or nothing lands.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::push;

/// A card whose agent adds a file and offers to land it, on a codebase with these settings of its landing.
pub(crate) fn offered(desk: &Desk, landing: &Value) -> String {
    desk.script(&json!([
        {"when": "first", "steps": [
            desk.count("starts"),
            {"write_file": {"path": "a.txt", "text": "a\n"}},
            {"commit": "Add a"},
            {"offer_landing": {"summary": "Adds a"}},
            {"final": "Done."}]},
        {"when": "conflict", "steps": [
            desk.count("answers"),
            {"write_file": {"path": "mended.txt", "text": "m\n"}},
            {"commit": "Mend it"},
            {"offer_landing": {"summary": "Mended"}},
            {"final": "Mended."}]}]));
    let card = desk.send("Add a");
    set_landing(desk, landing);
    desk.run_once();
    card
}

/// Notes what it means to land on the only codebase.
pub(crate) fn set_landing(desk: &Desk, landing: &Value) {
    let file = desk.state().join("checkouts.json");
    let text = fs::read_to_string(&file).expect("a codebase is there");
    let mut noted: Value = serde_json::from_str(&text).expect("JSON");
    noted["checkouts"][0]["landing"] = landing.clone();
    fs::write(&file, noted.to_string()).expect("written");
}

/// A command that notes the commit that it runs on, and then does more.
pub(crate) fn noting(desk: &Desk, more: &str) -> String {
    let file = desk.path("outside/verified");
    format!("git rev-parse HEAD >> '{}'; {more}", file.display())
}

pub(crate) fn verified(desk: &Desk) -> Vec<String> {
    let text = fs::read_to_string(desk.path("outside/verified")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn tip(desk: &Desk) -> String {
    desk.git(&["rev-parse", "main"]).trim().to_owned()
}

/// Nothing of a verify is left, neither a process nor a clone.
pub(crate) fn nothing_is_left(desk: &Desk) {
    desk.no_process_is_left();
    // A daemon removes the clones of what is over while it leaves, or when the next one starts.
    let clones = desk.state().join("worktrees/verify");
    let is_empty = |dir: &Path| fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty(&clones) {
        let daemon = desk.daemon();
        desk.until("the clones are gone", || is_empty(&clones).then_some(()));
        daemon.kill();
    }
}

/// WT-7.
#[test]
fn what_lands_is_what_the_verify_command_has_passed_on() {
    let desk = Desk::new();
    let verify = noting(
        &desk,
        "test -f a.txt && test -f README && test -z \"$(cat)\" && echo fine",
    );
    let card = offered(&desk, &json!({"verify": verify}));
    let before = desk.git(&["status", "--porcelain", "--ignored"]);
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(verified(&desk), [tip(&desk)], "it ran once, on what was moved");
    let landing = &detail["landings"][0];
    assert_eq!(landing["commit"], landing["verify"]["commit"], "{detail}");
    assert_eq!(landing["verify"]["passed"], true, "{detail}");
    assert_eq!(landing["verify"]["exit"], json!({"code": 0}), "{detail}");
    let page = desk.ok(&["show", &card]);
    assert!(page.contains("ended with exit code 0"), "{page}");
    assert_eq!(desk.git(&["status", "--porcelain", "--ignored"]), before);
    assert_eq!(desk.lines("starts"), 1, "no agent is started for it");
    nothing_is_left(&desk);
    let execution = desk.json(&["ps", "--all"]);
    let is_verify = |one: &&Value| one["landing"].is_string();
    let of_verify: Vec<&Value> = execution
        .as_array()
        .expect("executions")
        .iter()
        .filter(is_verify)
        .collect();
    assert_eq!(of_verify.len(), 1, "{execution}");
    assert_eq!(
        (&of_verify[0]["agent"], &of_verify[0]["state"]),
        (&Value::Null, &json!("closed"))
    );
}

#[test]
fn a_failed_verify_moves_nothing_and_goes_back_to_the_agent_with_the_end_of_its_output() {
    let desk = Desk::new();
    let verify = noting(&desk, "echo out of order >&2; test -f mended.txt");
    let card = offered(&desk, &json!({"verify": verify}));
    let before = tip(&desk);
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(tip(&desk), before);
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "verify_failed", "{detail}");
    assert_eq!(
        detail["landings"][0]["verify"]["exit"],
        json!({"code": 1}),
        "{detail}"
    );
    let answer = detail["asks"][0]["answer"]
        .as_str()
        .expect("its offer is answered");
    assert!(
        answer.contains("exit code 1") && answer.contains("out of order"),
        "{answer}"
    );
    assert!(!answer.contains(&desk.state().display().to_string()), "{answer}");
    assert_eq!(desk.lines("answers"), 1, "its agent goes on by itself");
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
    assert_eq!(verified(&desk).last(), Some(&tip(&desk)));
    nothing_is_left(&desk);
}

#[test]
fn a_setup_command_that_fails_on_the_merge_is_a_verify_that_failed() {
    let desk = Desk::new();
    let card = offered(&desk, &json!({"verify": noting(&desk, "true")}));
    desk.ok(&["codebase", "set", "repo", "--setup", "test ! -f a.txt || exit 3"]);
    desk.ok(&["land", &card]);
    let before = tip(&desk);
    desk.crash_at("L6");
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "verify_failed", "{detail}");
    assert_eq!(
        detail["landings"][0]["verify"]["exit"],
        json!({"code": 3}),
        "{detail}"
    );
    assert_eq!(
        detail["landings"][0]["verify"]["command"], "test ! -f a.txt || exit 3",
        "{detail}"
    );
    assert_eq!((tip(&desk), verified(&desk).len()), (before, 0));
}

#[test]
fn a_verify_that_takes_too_long_is_ended_with_all_that_it_started() {
    let desk = Desk::new();
    let verify = noting(&desk, "sleep 600 & setsid sleep 600 & wait");
    let card = offered(&desk, &json!({"verify": verify, "verify_limit_s": 1}));
    let before = tip(&desk);
    desk.ok(&["land", &card]);
    desk.crash_at("L6");
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "verify_failed", "{detail}");
    assert_eq!(detail["landings"][0]["verify"]["exit"], "timed_out", "{detail}");
    assert_eq!(tip(&desk), before);
    desk.no_process_is_left();
}

#[test]
fn a_verify_that_somebody_killed_is_run_again_and_is_no_verdict_on_the_work() {
    let desk = Desk::new();
    let once = desk.path("outside/killed");
    let verify = noting(
        &desk,
        &format!(
            "test -e '{0}' || {{ touch '{0}'; kill -KILL $$; }}",
            once.display()
        ),
    );
    let card = offered(&desk, &json!({"verify": verify}));
    desk.ok(&["land", &card]);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(verified(&desk).len(), 2);
    nothing_is_left(&desk);
}

#[test]
fn a_verify_that_kills_itself_each_time_is_a_verdict_in_the_end() {
    let desk = Desk::new();
    let verify = noting(&desk, "kill -TERM $$");
    let card = offered(&desk, &json!({"verify": verify}));
    desk.ok(&["land", &card]);
    desk.crash_at("L6");
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "verify_failed", "{detail}");
    assert_eq!(verified(&desk).len(), 3);
}

/// A command that waits for the test.
fn gated(desk: &Desk) -> String {
    let (here, go) = (desk.path("outside/verifies"), desk.path("outside/verifies.go"));
    noting(
        desk,
        &format!(
            "touch '{}'; until test -e '{}'; do sleep 0.02; done",
            here.display(),
            go.display()
        ),
    )
}

#[test]
fn a_stop_ends_a_verify_and_nothing_moves() {
    let desk = Desk::new();
    let card = offered(&desk, &json!({"verify": gated(&desk)}));
    let before = tip(&desk);
    desk.ok(&["land", &card]);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/verifies"));
    let running = desk.json(&["ps"]);
    assert_eq!(running[0]["card"], card[card.len() - 8..], "{running}");
    desk.ok(&["stop", &card]);
    desk.no_process_but_the_daemon_is_left();
    let detail = desk.card(&card);
    assert_eq!(detail["landings"][0]["state"], "refused", "{detail}");
    assert_eq!(detail["card"]["state"], "stopped", "{detail}");
    assert_eq!(tip(&desk), before);
    daemon.kill();
    desk.open_gate("verifies");
    desk.ok(&["land", &card]);
    desk.run_once();
    assert_eq!(
        desk.card(&card)["card"]["state"],
        "landed",
        "it can be accepted again"
    );
    nothing_is_left(&desk);
}

#[test]
fn a_verify_outlives_its_daemon_and_the_next_one_reads_what_it_said() {
    for is_over_before in [false, true] {
        let desk = Desk::new();
        let card = offered(&desk, &json!({"verify": gated(&desk)}));
        desk.ok(&["land", &card]);
        let daemon = desk.daemon();
        desk.until_there(&desk.path("outside/verifies"));
        daemon.kill();
        // The configuration says something else by now: what was begun is taken up as it was.
        set_landing(&desk, &json!({"verify": "false"}));
        if is_over_before {
            desk.open_gate("verifies");
            desk.no_process_is_left();
            desk.run_once();
        } else {
            let next = desk.daemon();
            desk.until("it is taken up", || {
                let log = fs::read_to_string(desk.path("daemon.log")).unwrap_or_default();
                log.contains("its verify still runs").then_some(())
            });
            desk.open_gate("verifies");
            desk.until("it has landed", || {
                (desk.card(&card)["card"]["state"] == "landed").then_some(())
            });
            next.kill();
        }
        assert_eq!(desk.card(&card)["card"]["state"], "landed");
        assert_eq!(verified(&desk), [tip(&desk)], "it ran once");
        nothing_is_left(&desk);
    }
}

/// G11.
#[test]
fn a_base_that_moves_during_a_verify_is_merged_and_verified_again() {
    moves_during_a_verify(&Desk::new());
}

/// G11: the person's base does not part from a remote that had what they had.
#[test]
fn a_base_that_moves_during_a_verify_is_merged_and_verified_again_before_it_is_pushed() {
    let desk = Desk::new();
    let there = push::remote(&desk);
    moves_during_a_verify(&desk);
    assert_eq!(push::tip(&desk, &there, "main"), tip(&desk));
}

fn moves_during_a_verify(desk: &Desk) {
    let card = offered(desk, &json!({"verify": gated(desk)}));
    desk.ok(&["land", &card]);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/verifies"));
    fs::write(desk.path("repo/mine.txt"), "mine\n").expect("written");
    desk.commit_all("Mine");
    let mine = tip(desk);
    desk.open_gate("verifies");
    desk.until("it has landed", || {
        (desk.card(&card)["card"]["state"] == "landed").then_some(())
    });
    daemon.kill();
    let ran_on = verified(desk);
    assert_eq!(ran_on.len(), 2, "{ran_on:?}");
    assert_eq!(ran_on[1], tip(desk));
    let parent = desk.git(&["rev-parse", "main^1"]);
    assert_eq!(parent.trim(), mine, "no commit is lost");
    assert_eq!(desk.card(&card)["landings"][0]["verify"]["commit"], ran_on[1]);
    nothing_is_left(desk);
}

/// The ledger was lost while a verify ran: nothing of the former life is left beside the next one.
#[test]
fn a_verify_whose_ledger_is_lost_is_ended_before_the_next_one() {
    let desk = Desk::new();
    let card = offered(&desk, &json!({"verify": gated(&desk)}));
    desk.ok(&["land", &card]);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/verifies"));
    daemon.kill();
    fs::remove_file(desk.state().join("ledger")).expect("there was one");
    set_landing(&desk, &json!({"verify": noting(&desk, "true")}));
    desk.run_once();
    assert_eq!(desk.card(&card)["card"]["state"], "landed");
    assert_eq!(verified(&desk).last(), Some(&tip(&desk)));
    nothing_is_left(&desk);
}

/// A landing with a verify that was cut short at a border lands once, and only what was verified. Invariant 13.
fn check_border(border: &str) {
    let desk = Desk::new();
    let card = offered(&desk, &json!({"verify": noting(&desk, "true")}));
    desk.ok(&["land", &card]);
    desk.crash_at(border);
    desk.run_once();
    let merges = desk.git(&["rev-list", "--count", "--merges", "main"]);
    assert_eq!(merges.trim(), "1", "the work is in the base, once");
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(
        desk.said_by(&card, "system").len(),
        1,
        "it is said once: {detail}"
    );
    assert!(
        verified(&desk).contains(&tip(&desk)),
        "it passed on what was moved"
    );
    assert_eq!(detail["landings"][0]["verify"]["commit"], tip(&desk), "{detail}");
    nothing_is_left(&desk);
}

macro_rules! borders {
    ($($name:ident = $border:literal;)*) => { $(
        #[test]
        fn $name() {
            check_border($border);
        }
    )* };
}

borders! {
    v1_the_verify_is_in_the_ledger_and_nothing_of_it_is_made = "V1";
    v2_the_shim_holds_the_verify = "V2";
    v3_the_verify_runs = "V3";
    v4_the_verify_has_ended_and_what_it_said_is_not_in_the_ledger = "V4";
    v5_what_the_verify_said_is_in_the_ledger_and_the_move_is_not = "V5";
    l3_the_verified_move_is_in_the_ledger_and_not_made = "L3";
    l4_the_verified_base_has_moved_and_the_ledger_does_not_know = "L4";
}
