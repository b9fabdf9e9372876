//! The daemon dies at each border of its protocols; the next one finds exactly one agent, one answer, one landing.
//! P1 to P13 are the borders of the start protocol, P14 to P26 those of what comes of a start, L1 to L6 those of a landing;
//! `cs_daemon::Border` says what lies between.

use std::fs;

use serde_json::json;

use crate::desk::Desk;

/// An agent that counts its starts, commits, and answers.
fn counted(desk: &Desk) -> String {
    desk.script(&json!([{"when": "first", "steps": [
            desk.count("starts"),
            {"write_file": {"path": "a.txt", "text": "a\n"}},
            {"commit": "Add a"},
            {"offer_landing": {"summary": "Adds a"}},
            {"final": "Done."}]}]));
    desk.send("Add a")
}

/// Invariant 1. Invariant 3. Invariant 4. Invariant 8.
fn check_start(border: &str) {
    let desk = Desk::new();
    let card = counted(&desk);
    desk.crash_at(border);
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1, "exactly one agent had its prompt");
    assert_eq!(desk.said_by(&card, "agent"), ["Done."], "exactly one answer");
    let detail = desk.card(&card);
    assert_eq!(detail["asks"].as_array().map(Vec::len), Some(1), "{detail}");
    assert_eq!(detail["runs"].as_array().map(Vec::len), Some(1), "{detail}");
    assert_eq!(
        detail["runs"][0]["tries"], 0,
        "a crash of the daemon is no try: {detail}"
    );
    desk.no_process_is_left();
}

/// A landing that was cut short at a border lands once. Invariant 13.
fn check_landing(border: &str) {
    let desk = Desk::new();
    let card = counted(&desk);
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.crash_at(border);
    desk.run_once();
    let merges = desk.git(&["rev-list", "--count", "--merges", "main"]);
    let commits = desk.git(&["rev-list", "--count", "main"]);
    assert_eq!(
        (merges.trim(), commits.trim()),
        ("1", "3"),
        "the work is in the base, once"
    );
    assert_eq!(
        fs::read_to_string(desk.path("repo/a.txt")).expect("checked out"),
        "a\n"
    );
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "landed", "{detail}");
    assert_eq!(
        desk.said_by(&card, "system").len(),
        1,
        "it is said once: {detail}"
    );
    assert_eq!(desk.lines("starts"), 1, "no agent is started for it");
    desk.no_process_is_left();
}

macro_rules! borders {
    ($check:ident: $($name:ident = $border:literal;)*) => { $(
        #[test]
        fn $name() {
            $check($border);
        }
    )* };
}

borders! { check_start:
    p1_before_the_intent = "P1";
    p2_after_the_intent_before_the_request = "P2";
    p3_the_record_committed_and_its_answer_is_lost = "P3";
    p4_confirmed_and_not_in_the_ledger = "P4";
    p5_in_the_ledger_and_not_adopted = "P5";
    p6_preparation_open_nothing_spawned = "P6";
    p7_the_shim_holds_and_is_not_registered = "P7";
    p8_registered_before_the_prompt = "P8";
    p9_the_agent_has_its_prompt_and_is_not_in_the_ledger = "P9";
    p10_the_agent_runs = "P10";
    p11_the_agent_ended_and_its_outcome_is_not_durable = "P11";
    p12_the_outcome_is_durable_and_not_on_the_record = "P12";
    p13_the_answer_is_written_and_not_acknowledged = "P13";
    p26_turns_are_taken_and_none_is_on_its_way = "P26";
}

borders! { check_failed_start:
    p17_the_failed_start_is_noted_and_not_written = "P17";
    p18_the_end_is_written_and_its_answer_lost = "P18";
}

borders! { check_landing:
    l1_claimed_and_nothing_done = "L1";
    l2_the_merge_is_made_and_not_in_the_ledger = "L2";
    l3_the_move_is_in_the_ledger_and_not_made = "L3";
    l4_the_base_has_moved_and_the_ledger_does_not_know = "L4";
    l5_the_result_is_durable_and_not_on_the_record = "L5";
    l6_the_result_is_written_and_not_acknowledged = "L6";
}

/// The question of a run was settled and not acknowledged: it is asked once, and the run waits for the answer.
#[test]
fn p14_the_question_is_on_the_record_and_not_acknowledged() {
    let desk = Desk::new();
    desk.script(&json!([
        {"when": "first", "steps": [desk.count("starts"), {"ask": {"question": "Which?"}}]},
        {"when": "answer", "steps": [desk.count("answers"), {"final": "Done."}]}]));
    let card = desk.send("Ask me");
    desk.crash_at("P14");
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["asks"].as_array().map(Vec::len), Some(1), "{detail}");
    assert_eq!(detail["runs"][0]["state"], "asked", "{detail}");
    assert_eq!((desk.lines("starts"), desk.lines("answers")), (1, 0));
    desk.ok(&["answer", &card, "This one"]);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!((desk.lines("starts"), desk.lines("answers")), (1, 1));
    desk.no_process_is_left();
}

/// An agent that fails the first time, and answers the second.
fn fails_once(desk: &Desk) -> String {
    desk.script(&json!([
        {"when": "first", "steps": [desk.count("starts"), {"exit": 1}]},
        {"when": "retry", "steps": [desk.count("retries"), {"final": "Done."}]}]));
    desk.send("Try twice")
}

/// A failure counts one try, and the retry that a person does not wait for runs once.
fn check_retried_once(desk: &Desk, card: &str) {
    assert_eq!((desk.lines("starts"), desk.lines("retries")), (1, 1));
    assert_eq!(desk.said_by(card, "agent"), ["Done."]);
    let detail = desk.card(card);
    assert_eq!(detail["runs"].as_array().map(Vec::len), Some(1), "{detail}");
    assert_eq!(detail["runs"][0]["epoch"], 2, "{detail}");
    desk.no_process_is_left();
}

/// ST-13.
#[test]
fn p15_the_failure_is_durable_and_no_retry_is_claimed() {
    let desk = Desk::new();
    let card = fails_once(&desk);
    desk.crash_at("P15");
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["tries"], 1, "one failure is one try: {detail}");
    assert_eq!((desk.lines("starts"), desk.lines("retries")), (1, 0));
    desk.ok(&["retry", &card]);
    desk.run_once();
    check_retried_once(&desk, &card);
}

/// ST-14.
#[test]
fn p16_the_retry_is_claimed_and_nothing_is_spawned() {
    let desk = Desk::new();
    let card = fails_once(&desk);
    desk.run_once();
    desk.ok(&["retry", &card]);
    desk.crash_at("P16");
    assert_eq!(desk.lines("retries"), 0);
    desk.run_once();
    check_retried_once(&desk, &card);
}

/// A run that cannot be started is ended once, with its reason, and goes on once that is mended. Told twice, its end is a fact and
/// no error (ST-15).
fn check_failed_start(border: &str) {
    let desk = Desk::new();
    let program = desk.path("outside/agent");
    let write = |text: &str| {
        fs::write(&program, text).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).expect("set");
    };
    write("#!/no/such/interpreter\n");
    desk.ok(&["agent", "add", "broken", "--", program.to_str().expect("text")]);
    let card = desk.send("Do something");
    desk.crash_at(border);
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "failed", "{detail}");
    assert_eq!(detail["runs"].as_array().map(Vec::len), Some(1), "{detail}");
    assert_eq!(
        detail["runs"][0]["epoch"], 1,
        "nothing was started again: {detail}"
    );
    let starts = desk.path("outside/starts");
    write(&format!(
        "#!/bin/sh\necho $$ >> '{}'\necho Done.\n",
        starts.display()
    ));
    desk.ok(&["retry", &card]);
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1);
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    desk.no_process_is_left();
}

/// RC-6: the same report under the same id. The first crash leaves a shim that held no prompt.
#[test]
fn p20_the_interruption_is_written_and_not_acknowledged() {
    let desk = Desk::new();
    let card = counted(&desk);
    desk.crash_at("P8");
    desk.crash_at("P20");
    desk.run_once();
    check_interrupted_once(&desk, &card);
}

fn check_interrupted_once(desk: &Desk, card: &str) {
    assert_eq!(desk.lines("starts"), 1, "exactly one agent had its prompt");
    assert_eq!(desk.said_by(card, "agent"), ["Done."], "exactly one answer");
    let detail = desk.card(card);
    assert_eq!(detail["runs"][0]["epoch"], 2, "it was interrupted once: {detail}");
    assert_eq!(detail["runs"][0]["tries"], 0, "that is no try: {detail}");
    desk.no_process_is_left();
}

/// RC-4, scenario 34: the ledger was lost as well, and its import is begun again.
#[test]
fn p23_the_import_is_half_done() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [desk.count("starts"), here, wait, {"final": "Done."}]}]));
    let cards = [desk.send("One"), desk.send("Two")];
    let daemon = desk.daemon();
    desk.until("both agents run", || (desk.lines("starts") == 2).then_some(()));
    daemon.kill();
    fs::remove_file(desk.state().join("ledger")).expect("there was one");
    desk.crash_at("P23");
    desk.open_gate("gate");
    desk.run_once();
    assert_eq!(desk.lines("starts"), 2, "no agent is started again");
    for card in &cards {
        assert_eq!(desk.said_by(card, "agent"), ["Done."]);
    }
    desk.no_process_is_left();
}

/// CJ-29: of two re-arms of one claim one was on its way.
#[test]
fn p25_the_re_arms_are_partly_started() {
    let desk = Desk::new();
    desk.script(&json!([
        {"when": "first", "steps": [{"ask": {"question": "Which?"}}]},
        {"when": "answer", "steps": [desk.count("answers"), {"final": "Done."}]}]));
    let cards = [desk.send("Ask me"), desk.send("Ask me too")];
    desk.run_once();
    for card in &cards {
        desk.ok(&["answer", card, "This one"]);
    }
    desk.crash_at("P25");
    desk.run_once();
    assert_eq!(desk.lines("answers"), 2, "each goes on once");
    for card in &cards {
        assert_eq!(desk.said_by(card, "agent"), ["Done."]);
    }
    desk.no_process_is_left();
}

#[test]
fn a_killed_daemon_is_not_noticed_by_its_agent() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [
        desk.count("starts"), {"say": "before"}, here, wait, {"say": "after"}, {"final": "Done."}]}]));
    let card = desk.send("Wait for me");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    let alive = desk.processes();
    assert!(
        alive.iter().any(|line| line.contains("__agent-script")),
        "the agent goes on: {alive:?}"
    );
    let next = desk.daemon();
    desk.open_gate("gate");
    desk.until("the card is answered", || {
        (!desk.said_by(&card, "agent").is_empty()).then_some(())
    });
    next.kill();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(desk.lines("starts"), 1);
    desk.run_once();
    assert_eq!(
        desk.said_by(&card, "agent"),
        ["Done."],
        "and it is not answered again"
    );
    desk.no_process_is_left();
}

#[test]
fn an_agent_that_ended_while_no_daemon_lived_is_answered_by_the_next() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [desk.count("starts"), here, wait, {"final": "Done."}]}]));
    let card = desk.send("Wait for me");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    desk.open_gate("gate");
    desk.no_process_is_left();
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(desk.lines("starts"), 1);
}

#[test]
fn a_lost_ledger_is_made_up_for_from_what_runs() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [desk.count("starts"), here, wait, {"final": "Done."}]}]));
    let card = desk.send("Wait for me");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    fs::remove_file(desk.state().join("ledger")).expect("there was one");
    let next = desk.daemon();
    desk.open_gate("gate");
    desk.until("the card is answered", || {
        (!desk.said_by(&card, "agent").is_empty()).then_some(())
    });
    next.kill();
    assert_eq!(desk.lines("starts"), 1);
}

#[test]
fn a_ledger_that_lost_its_end_starts_no_agent_twice() {
    for kept in [0, 25, 50, 75, 95] {
        let desk = Desk::new();
        let [here, wait] = desk.gate("gate");
        desk.script(
            &json!([{"when": "first", "steps": [desk.count("starts"), here, wait, {"final": "Done."}]}]),
        );
        let card = desk.send("Wait for me");
        let daemon = desk.daemon();
        desk.until_there(&desk.path("outside/gate"));
        daemon.kill();
        let ledger = fs::File::options().write(true).open(desk.state().join("ledger"));
        let ledger = ledger.expect("there is one");
        let length = ledger.metadata().expect("readable").len();
        ledger.set_len(length * kept / 100).expect("cut");
        desk.open_gate("gate");
        desk.no_process_is_left();
        desk.run_once();
        assert_eq!(desk.lines("starts"), 1, "{kept} % of the ledger kept");
        assert_eq!(
            desk.said_by(&card, "agent"),
            ["Done."],
            "{kept} % of the ledger kept"
        );
    }
}

#[test]
fn an_agent_is_read_as_it_was_started_whatever_the_configuration_says_later() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [here, wait, {"final": "Done."}]}]));
    let card = desk.send("Wait for me");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    desk.forget_agents();
    desk.open_gate("gate");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    desk.no_process_is_left();
}

/// The ledger is lost as well: what was claimed and left no trace is given back (RC-4).
fn check_lost_ledger(border: &str) {
    let desk = Desk::new();
    let card = counted(&desk);
    desk.crash_at(border);
    fs::remove_file(desk.state().join("ledger")).expect("there was one");
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1, "exactly one agent had its prompt");
    assert_eq!(desk.said_by(&card, "agent"), ["Done."], "exactly one answer");
    desk.no_process_is_left();
}

#[test]
fn a_claim_whose_ledger_is_lost_is_given_back_and_starts_again() {
    check_lost_ledger("P5");
}

#[test]
fn a_preparation_whose_ledger_is_lost_is_made_again() {
    check_lost_ledger("P7");
}

#[test]
fn a_landing_whose_ledger_is_lost_lands_once() {
    for border in ["L3", "L4"] {
        let desk = Desk::new();
        let card = counted(&desk);
        desk.run_once();
        desk.ok(&["land", &card]);
        desk.crash_at(border);
        fs::remove_file(desk.state().join("ledger")).expect("there was one");
        desk.run_once();
        let merges = desk.git(&["rev-list", "--count", "--merges", "main"]);
        assert_eq!(merges.trim(), "1", "{border}: the work is in the base, once");
        assert_eq!(desk.card(&card)["card"]["state"], "landed", "{border}");
    }
}

#[test]
fn there_is_one_daemon_on_a_state_directory() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [here, wait, {"final": "Done."}]}]));
    desk.send("Wait for me");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    let said = desk.fails(3, &["run", "--once"]);
    assert!(said.contains("another"), "{said}");
    assert!(daemon.pid() > 0);
    desk.open_gate("gate");
    desk.no_agent_is_left();
}
