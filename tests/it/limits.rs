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

/// Configures the plain agent `plain`: a shell script whose answer is what it prints.
fn plain(desk: &Desk, script: &str) {
    desk.ok(&["agent", "add", "plain", "--", "sh", "-c", script]);
}

/// Says something else in the configuration.
fn say_instead(desk: &Desk, before: &str, after: &str) {
    let path = desk.path("home/.config/cs-panel/config.toml");
    let text = std::fs::read_to_string(&path).expect("it is configured");
    assert!(text.contains(before), "{text}");
    std::fs::write(&path, text.replace(before, after)).expect("written");
}

fn the_run(desk: &Desk, card: &str) -> Value {
    desk.card(card)["runs"][0].clone()
}

#[test]
fn an_attempt_that_works_for_too_long_is_capped_and_a_person_decides() {
    let desk = Desk::new();
    let card = waiting(&desk, "[limits]\nwall = \"5s\"\n");
    let said = desk.run_once_saying();
    assert!(
        said.contains("`wall`") && said.contains("cs-panel retry"),
        "it says which budget it was and what to do: {said}"
    );
    let detail = desk.card(&card);
    assert_eq!(detail["runs"][0]["state"], "capped_wall", "{detail}");
    assert_eq!(detail["card"]["state"], "failed", "{detail}");
    let reason = detail["card"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("worked for 5 s"), "{reason}");
    assert_eq!(
        detail["turns"][0]["state"], "pending",
        "its turn is kept: {detail}"
    );
    assert_eq!(detail["runs"][0]["tries"], 0, "{detail}");
    desk.no_process_is_left();
    desk.run_once();
    assert_eq!(desk.lines("starts"), 1, "it does not go on by itself");
    assert!(desk.ok(&["cards"]).contains("failed"));
    say_instead(&desk, "wall = \"5s\"", "wall = \"none\"");
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

/// No daemon is there to end it for having answered.
#[test]
fn what_an_agent_had_said_before_its_budget_was_used_up_counts() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "any", "steps": [{"final": "Done."}, here, wait]}]));
    desk.configure("[limits]\nwall = \"10s\"\n");
    let card = desk.send("Answer and stay");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    desk.no_process_is_left();
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert_eq!(the_run(&desk, &card)["state"], "finished");
}

#[test]
fn a_plain_agent_that_ends_in_order_when_its_budget_is_used_up_has_answered() {
    let desk = Desk::new();
    plain(
        &desk,
        "trap 'echo That is all.; exit 0' INT; while :; do sleep 0.05; done",
    );
    desk.configure("[limits]\nwall = \"5s\"\n");
    let card = desk.send("Work");
    let said = desk.run_once_saying();
    assert!(
        said.contains("`wall`") && said.contains("what it said is its answer"),
        "{said}"
    );
    assert_eq!(desk.said_by(&card, "agent"), ["That is all."]);
    assert_eq!(the_run(&desk, &card)["state"], "finished");
}

#[test]
fn a_plain_agent_that_says_nothing_when_its_budget_is_used_up_was_cut_short() {
    let desk = Desk::new();
    plain(&desk, "trap 'exit 0' INT; while :; do sleep 0.05; done");
    desk.configure("[limits]\nwall = \"5s\"\n");
    let card = desk.send("Work");
    desk.run_once();
    assert_eq!(the_run(&desk, &card)["state"], "capped_wall");
    assert_eq!(desk.card(&card)["card"]["state"], "failed");
}

/// It says 160 MiB, and each time goes on only when it takes less than 80 MiB of disk.
#[test]
fn the_middle_of_standard_error_takes_no_disk() {
    let desk = Desk::new();
    plain(
        &desk,
        "for part in 1 2 3 4 5 6 7 8; do
             head -c 20971520 /dev/zero >&2
             looks=0
             until test \"$(stat -L -c %b /proc/self/fd/2)\" -lt 163840; do
                 looks=$((looks + 1)); test $looks -lt 1000 || exit 1
                 sleep 0.05
             done
         done
         echo Done.",
    );
    desk.configure("[limits]\noutput = \"140MiB\"\n");
    let card = desk.send("Complain");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
}

#[test]
fn a_person_is_told_when_the_output_of_an_agent_takes_four_fifths_of_its_disk() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "any", "steps": [
        {"run": ["sh", "-c", "head -c 9437184 /dev/zero >&2"]}, here, wait, {"final": "Done."}]}]));
    desk.configure("[limits]\noutput = \"10MiB\"\n");
    let card = desk.send("Write");
    let daemon = desk.daemon();
    desk.until("it is said", || {
        let said = std::fs::read_to_string(desk.path("daemon.log")).unwrap_or_default();
        // How much of it was written when it was looked at is nobody's promise: 8 MiB or more.
        said.contains("MiB of disk; at 10 MiB it is ended").then_some(())
    });
    desk.open_gate("gate");
    desk.until("it has answered", || {
        (desk.said_by(&card, "agent") == ["Done."]).then_some(())
    });
    daemon.kill();
}

/// The lease of a live daemon is renewed, that of a dead one ends.
#[test]
fn an_agent_that_no_daemon_follows_is_paused_at_the_end_of_its_lease_and_goes_on_with_the_next_one() {
    let desk = Desk::new();
    let card = waiting(&desk, "[limits]\nlease = \"5s\"\nat_lease_end = \"pause\"\n");
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
    let card = waiting(&desk, "[limits]\nlease = \"8s\"\nat_lease_end = \"stop\"\n");
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
