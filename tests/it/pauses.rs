//! `pause CARD` and `resume CARD`: the agent of a card stands still and goes on, with a daemon and without one.

use serde_json::{Value, json};

use crate::desk::Desk;

/// An agent that waits for the test.
fn waiting(desk: &Desk) -> String {
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "any", "steps": [desk.count("starts"), here, wait, {"final": "Done."}]}]));
    desk.send("Wait")
}

fn paused(desk: &Desk, card: &str) -> Value {
    desk.card(card)["runs"][0]["paused"].clone()
}

/// The pid of the shim of the only agent that lives.
fn shim(desk: &Desk) -> String {
    desk.json(&["ps"])[0]["shim_pid"].to_string()
}

fn signal(desk: &Desk, signal: &str, pid: &str) {
    let mut kill = desk.shell(&format!("kill {signal} {pid}"));
    assert!(kill.status().expect("kill runs").success());
}

#[test]
fn a_pause_that_its_shim_does_not_carry_out_is_not_noted() {
    let desk = Desk::new();
    let card = waiting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    let shim = shim(&desk);
    signal(&desk, "-STOP", &shim);
    let refused = desk.fails(1, &["pause", &card]);
    assert!(refused.contains("does not answer"), "{refused}");
    assert_eq!(paused(&desk, &card), Value::Null);
    assert_eq!(
        std::fs::read_dir(desk.state().join("pauses"))
            .expect("there")
            .count(),
        0,
        "nothing is left of it"
    );
    signal(&desk, "-CONT", &shim);
    desk.ok(&["stop", &card]);
}

/// PS-33. What a person has paused is let go on by a person, not by the death of its shim.
#[test]
fn a_pause_holds_for_the_attempt_that_follows_one_whose_shim_died() {
    let desk = Desk::new();
    let card = waiting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    desk.ok(&["pause", &card, "--reason", "lunch"]);
    let by_whom = paused(&desk, &card);
    signal(&desk, "-KILL", &shim(&desk));
    desk.until("the next attempt stands still", || {
        let detail = desk.card(&card);
        let run = &detail["runs"][0];
        (run["epoch"] == 2 && desk.all_agents_stand_still()).then_some(())
    });
    assert_eq!(paused(&desk, &card), by_whom);
    desk.open_gate("gate");
    desk.ok(&["resume", &card]);
    desk.until("it has answered", || {
        (desk.said_by(&card, "agent") == ["Done."]).then_some(())
    });
    daemon.kill();
}

/// PS-33, PS-34.
#[test]
fn a_paused_agent_stands_still_over_a_restart_of_the_daemon_until_somebody_lets_it_go_on() {
    let desk = Desk::new();
    let card = waiting(&desk);
    let refused = desk.fails(3, &["pause", &card]);
    assert!(refused.contains("no agent works"), "{refused}");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    desk.ok(&["pause", &card, "--reason", "lunch"]);
    assert!(desk.all_agents_stand_still(), "{:?}", desk.agents());
    let by_whom = paused(&desk, &card);
    assert_eq!(
        (&by_whom["cause"], &by_whom["reason"]),
        (&json!("request"), &json!("lunch"))
    );
    assert!(
        by_whom["by"].is_string() && by_whom["since"].is_string(),
        "{by_whom}"
    );
    for list in [&["cards"][..], &["ps"], &["show", &card]] {
        let shown = desk.ok(list);
        assert!(
            shown.contains("paused by") && shown.contains("lunch"),
            "{list:?}: {shown}"
        );
    }
    let left = daemon.interrupt(&desk);
    assert!(left.contains("stays paused"), "{left}");
    desk.open_gate("gate");
    let daemon = desk.daemon();
    desk.until("the next daemon follows it", || {
        let log = std::fs::read_to_string(desk.path("daemon.log")).unwrap_or_default();
        log.contains("its agent still runs").then_some(())
    });
    assert!(
        desk.all_agents_stand_still(),
        "a follower does not end a person's pause"
    );
    assert_eq!(paused(&desk, &card), by_whom);
    desk.ok(&["resume", &card]);
    desk.until("it has answered", || {
        (desk.said_by(&card, "agent") == ["Done."]).then_some(())
    });
    assert_eq!(paused(&desk, &card), Value::Null);
    assert_eq!(desk.lines("starts"), 1);
    daemon.kill();
}

#[test]
fn without_a_daemon_a_pause_goes_to_the_shim_and_a_stop_ends_it() {
    let desk = Desk::new();
    let card = waiting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    desk.ok(&["pause", &card]);
    assert!(desk.all_agents_stand_still(), "{:?}", desk.agents());
    desk.ok(&["resume", &card]);
    assert!(!desk.all_agents_stand_still());
    desk.ok(&["pause", &card]);
    desk.ok(&["stop", &card]);
    desk.no_process_is_left();
    let refused = desk.fails(3, &["resume", &card]);
    assert!(refused.contains("no agent works"), "{refused}");
}

/// PS-31: what is asked for before the agent runs is remembered. The time that it stands still uses up no budget.
#[test]
fn a_pause_before_the_agent_runs_holds_it_from_its_start_on_and_spends_nothing() {
    let desk = Desk::new();
    // It is stopped as soon as it is there: a quick one would be done by then.
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "any", "steps": [here, wait, {"final": "Done."}]}]));
    desk.configure("[limits]\nwall = \"5s\"\n");
    let card = desk.send("Wait");
    // It is prepared, and nothing of it runs.
    desk.crash_at("P6");
    let told = desk.ok(&["pause", &card]);
    assert!(told.contains("from its start on"), "{told}");
    let daemon = desk.daemon();
    desk.until("it is older than its budget", || {
        let ps = desk.json(&["ps"]);
        let text = ps[0]["started_at"].as_str()?.to_owned();
        let started = humantime::parse_rfc3339_weak(&text).ok()?;
        (started.elapsed().ok()?.as_secs() > 6).then_some(())
    });
    assert!(desk.all_agents_stand_still(), "{:?}", desk.agents());
    desk.open_gate("gate");
    desk.ok(&["resume", &card]);
    desk.until("it has answered", || {
        (desk.said_by(&card, "agent") == ["Done."]).then_some(())
    });
    daemon.kill();
}

#[test]
fn a_pause_of_a_card_is_no_pause_of_a_machine() {
    let desk = Desk::new();
    for flags in [["--machine", ""], ["--drain", ""], ["--codebase", "repo"]] {
        let words = flags.iter().filter(|word| !word.is_empty()).copied();
        let args: Vec<&str> = ["pause", "1a2b3c4d"].into_iter().chain(words).collect();
        desk.fails(2, &args);
    }
}
