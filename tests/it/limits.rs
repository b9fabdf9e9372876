//! What one attempt may use, and what an agent does that no daemon follows: the real binary, real agents.

use serde_json::{Value, json};

use crate::desk::Desk;

/// An agent that says that it came by and then waits, with these budgets.
fn waiting(desk: &Desk, limits: &str) -> String {
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([
        {"when": "any", "contains": "Go on", "steps": [{"final": "Went on."}]},
        {"when": "any", "steps": [desk.count("starts"), here, wait, {"final": "Done."}]}]));
    desk.configure(limits);
    desk.send("Wait")
}

fn the_run(desk: &Desk, card: &str) -> Value {
    desk.card(card)["runs"][0].clone()
}

#[test]
fn an_attempt_that_works_for_too_long_is_capped_and_a_person_decides() {
    let desk = Desk::new();
    let card = waiting(&desk, "[limits]\nwall = \"1s\"\n");
    let said = desk.run_once_saying();
    assert!(
        said.contains("`wall`") && said.contains("cs-panel retry"),
        "it says which budget it was and what to do: {said}"
    );
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["state"], "capped_wall", "{detail}");
    assert_eq!(detail["card"]["state"], "failed", "{detail}");
    let reason = detail["card"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("worked for 1 s"), "{reason}");
    assert_eq!(
        detail["turns"][0]["state"], "pending",
        "its turn is kept: {detail}"
    );
    assert_eq!(detail["runs"][0]["tries"], 0, "{detail}");
    desk.no_process_is_left();
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1, "it does not go on by itself");
    assert!(desk.ok(&["cards"]).contains("failed"));
    desk.ok(&["send", "--card", &card, "Go on"]);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Went on."]);
}

#[test]
fn an_attempt_that_writes_too_much_is_capped_and_its_tree_is_kept() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "any", "steps": [
        {"write_file": {"path": "kept.txt", "text": "kept\n"}},
        {"run": ["sh", "-c", "yes 'no end' | head -c 8388608 >&2"]},
        {"wait": {"ms": 600_000}}]}]));
    desk.configure("[agents.scripted.limits]\noutput = \"2MiB\"\n");
    let card = desk.send("Write");
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["state"], "capped_output", "{detail}");
    let reason = detail["card"]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("2 MiB") && reason.contains("`output`"),
        "{reason}"
    );
    assert!(desk.ok(&["diff", &card]).contains("kept.txt"));
    desk.no_process_is_left();
}

#[test]
fn what_an_agent_had_said_before_its_budget_was_used_up_counts() {
    let desk = Desk::new();
    let [_, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "any", "steps": ["ignore_signals", {"wait": {"ms": 900}}, {"final": "Done."}, wait]}]));
    desk.configure("[limits]\nwall = \"1s\"\n");
    let card = desk.send("Answer and stay");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(the_run(&desk, &card)["state"], "finished");
}

/// The lease of a live daemon is renewed, that of a dead one ends.
#[test]
fn an_agent_that_no_daemon_follows_is_paused_at_the_end_of_its_lease_and_goes_on_with_the_next_one() {
    let desk = Desk::new();
    let card = waiting(&desk, "[limits]\nlease = \"2s\"\nat_lease_end = \"pause\"\n");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    desk.until("its agent stands still", || {
        desk.all_agents_stand_still().then_some(())
    });
    let daemon = desk.daemon();
    desk.until("its agent goes on", || {
        (!desk.all_agents_stand_still()).then_some(())
    });
    desk.open_gate("gate");
    desk.until("it has answered", || {
        (desk.said_by(&card, "agent") == ["Done."]).then_some(())
    });
    daemon.kill();
    assert_eq!(desk.lines("starts"), 1);
}

#[test]
fn an_agent_that_is_stopped_at_the_end_of_its_lease_was_cut_short_and_goes_on() {
    let desk = Desk::new();
    let card = waiting(&desk, "[limits]\nlease = \"1s\"\nat_lease_end = \"stop\"\n");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    desk.no_process_is_left();
    desk.open_gate("gate");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(desk.lines("starts"), 2, "it was started again, without a person");
    assert_eq!(the_run(&desk, &card)["tries"], 0);
}

#[test]
fn a_daemon_that_leaves_says_what_each_agent_does_without_it() {
    let desk = Desk::new();
    for (limits, expected) in [
        ("", "goes on; to stop it"),
        (
            "[limits]\nlease = \"10min\"\nat_lease_end = \"pause\"\n",
            "pauses in about 10m unless a daemon is back by then",
        ),
    ] {
        let card = waiting(&desk, limits);
        let daemon = desk.daemon();
        desk.until_there(&desk.path("outside/gate"));
        let said = daemon.interrupt(&desk);
        assert!(said.contains(expected), "{said}");
        desk.ok(&["stop", &card]);
        std::fs::remove_file(desk.path("outside/gate")).expect("it is there");
        desk.forget_agents();
    }
}
