//! A person or a cleaning tool removes the directory of an execution while its agent works.

use std::fs;

use serde_json::json;

use crate::desk::Desk;

/// An agent at its gate, beside a process that has left its session. A second attempt counts itself and answers.
fn at_work(desk: &Desk) -> String {
    let [here, wait] = desk.gate("gate");
    let pid_file = desk.path("outside").join("setsid");
    desk.script(&json!([
        {"when": "turn", "contains": "Again", "steps": [desk.count("second"), {"final": "Done again."}]},
        {"when": "any", "steps": [
            desk.count("starts"), {"spawn": {"kind": "setsid", "seconds": 600, "pid_file": pid_file}},
            here, wait, {"final": "Done."}]}]));
    desk.send("Work")
}

fn until_at_work(desk: &Desk) {
    desk.until_there(&desk.path("outside/gate"));
    desk.until("its process is on the record", || {
        // What is announced was noted before.
        let log = fs::read_to_string(desk.path("daemon.log")).ok()?;
        log.contains(", pid ").then_some(())
    });
    desk.until_there(&desk.path("outside/setsid"));
    assert!(desk.is_alive("setsid"));
}

fn remove_executions(desk: &Desk) {
    for execution in fs::read_dir(desk.state().join("executions")).expect("there") {
        let path = execution.expect("read").path();
        // Its shim may be writing into it.
        desk.until("its directory is removed", || fs::remove_dir_all(&path).ok());
    }
}

fn is_stopped(desk: &Desk, card: &str) {
    assert!(!desk.is_alive("setsid"));
    assert_eq!(desk.card(card)["runs"][0]["state"], "stopped");
    desk.no_process_but_the_daemon_is_left();
    desk.ok(&["send", "--card", card, "Again"]);
}

#[test]
fn a_daemon_ends_an_agent_whose_directory_was_removed_when_its_card_is_stopped() {
    let desk = Desk::new();
    let card = at_work(&desk);
    let daemon = desk.daemon();
    until_at_work(&desk);
    remove_executions(&desk);
    desk.ok(&["stop", &card]);
    is_stopped(&desk, &card);
    desk.until("the card goes on", || {
        (desk.said_by(&card, "agent") == ["Done again."]).then_some(())
    });
    daemon.kill();
}

#[test]
fn a_stop_without_a_daemon_ends_an_agent_whose_directory_was_removed() {
    let desk = Desk::new();
    let card = at_work(&desk);
    let daemon = desk.daemon();
    until_at_work(&desk);
    daemon.kill();
    remove_executions(&desk);
    desk.ok(&["stop", &card]);
    is_stopped(&desk, &card);
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done again."]);
}

#[test]
fn the_next_daemon_ends_an_agent_whose_directory_was_removed_and_its_card_goes_on() {
    let desk = Desk::new();
    let card = at_work(&desk);
    let daemon = desk.daemon();
    until_at_work(&desk);
    daemon.kill();
    remove_executions(&desk);
    let first = desk.agents();
    fs::remove_file(desk.path("outside/gate")).expect("there");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    assert_eq!(desk.lines("starts"), 2);
    let second = desk.agents();
    assert!(
        !first.is_empty() && first.iter().all(|one| !second.contains(one)),
        "{first:?} {second:?}"
    );
    daemon.kill();
    desk.ok(&["stop", &card]);
    desk.no_process_is_left();
    let log = fs::read_to_string(desk.path("daemon.log")).expect("it said something");
    assert!(
        log.contains("the directory of its execution was removed, and something of it still ran"),
        "{log}"
    );
}
