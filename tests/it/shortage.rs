//! What the machine is short of: descriptors, a state directory that can be written, or is there at all.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::desk::Desk;

/// An agent that notes how many files it may open, says that it came by, and waits.
fn noting(desk: &Desk) -> String {
    let [here, wait] = desk.gate("gate");
    let limit = desk.path("outside/limit");
    let note = format!("ulimit -n > '{}'", limit.display());
    let steps = json!([{"run": ["sh", "-c", note]}, here, wait, {"final": "Done."}]);
    desk.script(&json!([{"when": "any", "steps": steps}]));
    desk.send("Work")
}

/// The daemon, begun with other limits of open files.
fn limited(desk: &Desk, ulimit: &str, args: &[&str]) -> Command {
    let panel = desk.panel(args);
    let mut shell = desk.shell(&format!("ulimit {ulimit}; exec \"$0\" \"$@\""));
    shell.arg(panel.get_program()).args(panel.get_args());
    shell
}

#[test]
fn a_daemon_lets_itself_open_more_files_and_its_agents_what_it_was_started_with() {
    let desk = Desk::new();
    let card = noting(&desk);
    desk.open_gate("gate");
    let run = limited(&desk, "-S -n 200", &["run", "--once"])
        .output()
        .expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    let limit = fs::read_to_string(desk.path("outside/limit")).expect("it was noted");
    assert_eq!(limit.trim(), "200");
}

/// Nothing is wrong with the card.
#[test]
fn a_daemon_without_descriptors_starts_nothing_says_why_and_spends_no_try() {
    let desk = Desk::new();
    let card = noting(&desk);
    desk.open_gate("gate");
    let run = limited(&desk, "-n 45", &["run", "--once"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{said}");
    assert!(
        said.contains("may open only") && said.contains("`ulimit -n`"),
        "{said}"
    );
    let executions = fs::read_dir(desk.state().join("executions")).expect("there");
    assert_eq!(executions.count(), 0, "nothing is left of a start");
    desk.run_once();
    let run = &desk.card(&card)["runs"][0];
    assert_eq!((&run["tries"], &run["starts"]), (&json!(0), &json!(0)), "{run}");
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
}

#[test]
fn what_runs_is_seen_and_ended_where_the_state_directory_cannot_be_written() {
    let desk = Desk::new();
    let card = noting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    // Whoever tests may be allowed to write everywhere: so what is written first is in the way.
    let probe = desk.state().join("lock.probe");
    fs::remove_file(&probe).expect("it was written");
    fs::create_dir(&probe).expect("made");
    let seen = desk.json(&["ps"]);
    assert_eq!(seen[0]["state"], "alive", "{seen}");
    let said = desk.fails(1, &["stop", &card]);
    assert!(
        said.contains("only read") && said.contains("could not be told"),
        "{said}"
    );
    assert!(desk.agents().is_empty(), "{:?}", desk.agents());
    fs::remove_dir(&probe).expect("removed");
    desk.ok(&["stop", &card]);
}

#[test]
fn a_daemon_whose_state_directory_is_gone_names_the_agents_that_run_on() {
    let desk = Desk::new();
    noting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    let pid = desk.json(&["ps"])[0]["pid"].to_string();
    fs::rename(desk.state(), desk.path("elsewhere")).expect("it is moved");
    let words = format!("with pid {pid}");
    desk.until("it names its agent", || {
        let log = fs::read_to_string(desk.path("daemon.log")).expect("it wrote something");
        (log.contains(&words) && log.contains("`kill PID`")).then_some(())
    });
    drop(daemon);
    let killed = desk.shell(&format!("kill {pid}")).status();
    assert!(killed.expect("kill runs").success());
    desk.no_process_is_left();
}

/// Runs the binary to a success and returns what it says on standard error.
fn said(desk: &Desk, args: &[&str]) -> String {
    let output = desk.panel(args).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    said
}

#[test]
fn what_stops_or_shows_something_works_whatever_is_wrong_with_the_configuration() {
    let desk = Desk::new();
    let card = noting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    desk.configure("slots = \"two\"");
    for args in [
        &["pause", &card][..],
        &["resume", &card],
        &["pause"],
        &["resume"],
        &["cards"],
        &["show", &card],
    ] {
        let said = said(&desk, args);
        assert!(
            said.contains("its defaults are used for this command") && said.contains("`slots`"),
            "{args:?}: {said}"
        );
    }
    assert_eq!(desk.json(&["ps"])[0]["state"], "alive");
    daemon.kill();
    let told = said(&desk, &["stop", &card]);
    assert_eq!(told.matches("its defaults are used").count(), 1, "{told}");
    assert!(desk.agents().is_empty(), "{:?}", desk.agents());
    let refused = desk.fails(2, &["send", "More"]);
    assert!(refused.contains("config.toml:"), "{refused}");
}

#[test]
fn a_pause_that_cannot_be_noted_holds_for_as_long_as_its_agent_lives() {
    let desk = Desk::new();
    let card = noting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    // Whoever tests may be allowed to write everywhere: so no note can be made at all.
    let notes = desk.state().join("pauses");
    fs::remove_dir(&notes).expect("it is empty");
    fs::write(&notes, "").expect("written");
    let told = said(&desk, &["pause", &card]);
    assert!(
        told.contains("could not be noted") && told.contains("for as long as this agent lives"),
        "{told}"
    );
    assert!(desk.all_agents_stand_still(), "{:?}", desk.agents());
    fs::remove_file(&notes).expect("there");
    desk.ok(&["resume", &card]);
    desk.open_gate("gate");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
}

/// So it is on a full disk, where its shim waits for room to say how its agent ended.
#[test]
fn an_agent_that_has_ended_is_not_shown_as_alive_whatever_its_shim_does() {
    let desk = Desk::new();
    let card = noting(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    let seen = desk.until("both of its processes are known", || {
        let seen = desk.json(&["ps"])[0].clone();
        (seen["pid"].is_u64() && seen["shim_pid"].is_u64()).then_some(seen)
    });
    daemon.kill();
    assert_eq!(seen["state"], "alive");
    let signal = |signal: &str, pid: &str| {
        let sent = desk.shell(&format!("kill {signal} {}", seen[pid])).status();
        assert!(sent.expect("kill runs").success());
    };
    signal("-STOP", "shim_pid");
    signal("-KILL", "pid");
    desk.until("it is seen to have ended", || {
        (desk.json(&["ps"])[0]["state"] == "ending").then_some(())
    });
    signal("-CONT", "shim_pid");
    desk.ok(&["stop", &card]);
}
