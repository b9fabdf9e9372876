//! `stop` closes the whole tree and proves it, with and without a daemon.

use serde_json::{Value, json};

use crate::desk::Desk;

/// An agent with children that leave its process group and its session, and ignore signals.
fn hostile(desk: &Desk) -> String {
    let pid_file = |kind: &str| desk.path("outside").join(kind);
    let child = |kind: &str| json!({"spawn": {"kind": kind, "seconds": 600, "pid_file": pid_file(kind)}});
    let [here, wait] = desk.gate("gate");
    let steps: Vec<Value> = vec![
        json!("ignore_signals"),
        child("plain"),
        child("setsid"),
        child("double_fork"),
        child("double_fork_clean"),
        here,
        wait,
        json!({"final": "Never said."}),
    ];
    desk.script(&json!([{"when": "first", "steps": steps}]));
    desk.send("Misbehave")
}

const CHILDREN: [&str; 4] = ["plain", "setsid", "double_fork", "double_fork_clean"];

fn all_children_live(desk: &Desk) {
    for kind in CHILDREN {
        desk.until(kind, || {
            (desk.path("outside").join(kind).exists() && desk.is_alive(kind)).then_some(())
        });
    }
}

/// What a command that succeeds says on standard error.
fn noticed(desk: &Desk, args: &[&str]) -> String {
    let output = desk.panel(args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The card is stopped, and of its agent nothing lives, also of what had left its session and its environment.
fn stopped(desk: &Desk, card: &str) {
    for kind in CHILDREN {
        assert!(!desk.is_alive(kind), "{kind} lives");
    }
    let detail = desk.card(card);
    assert_eq!(detail["card"]["state"], "stopped", "{detail}");
    assert_eq!(detail["runs"][0]["state"], "stopped", "{detail}");
    assert!(desk.said_by(card, "agent").is_empty(), "{detail}");
    desk.no_process_but_the_daemon_is_left();
}

#[test]
fn a_running_daemon_closes_the_whole_tree_before_stop_returns() {
    let desk = Desk::new();
    let card = hostile(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    all_children_live(&desk);
    let told = desk.ok(&["stop", &card]);
    assert!(
        desk.agents().is_empty(),
        "stop returned before the end: {told} {:?}",
        desk.processes()
    );
    stopped(&desk, &card);
    daemon.kill();
}

#[test]
fn without_a_daemon_stop_closes_the_tree_itself() {
    let desk = Desk::new();
    let card = hostile(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    all_children_live(&desk);
    assert!(noticed(&desk, &["cards"]).contains("no daemon runs here: "));
    let told = noticed(&desk, &["stop", &card]);
    assert!(told.contains("was asked to end; waiting for it"), "{told}");
    assert!(desk.agents().is_empty(), "{:?}", desk.processes());
    stopped(&desk, &card);
}

#[test]
fn ps_lists_what_runs_without_a_daemon_and_what_ended_with_its_proof() {
    let desk = Desk::new();
    assert_eq!(desk.json(&["ps"]), json!([]));
    let card = hostile(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    all_children_live(&desk);
    daemon.kill();
    let live = desk.json(&["ps"]);
    let live = &live[0];
    assert!(card.ends_with(live["card"].as_str().expect("a card")), "{live}");
    assert_eq!((&live["state"], &live["proof"]), (&json!("alive"), &Value::Null));
    assert!(live["memory_bytes"].as_u64() > Some(0), "{live}");
    // Its shim, its agent, and what that has started.
    assert!(live["processes"].as_u64() >= Some(6), "{live}");
    let text = desk.ok(&["ps"]);
    assert!(
        text.contains("alive") && text.contains(&live["pid"].to_string()),
        "{text}"
    );
    let name = live["name"].as_str().expect("a name");
    let refused = desk.fails(3, &["execution", "dismiss", name]);
    assert!(refused.contains("not over"), "{refused}");
    desk.ok(&["stop", &card]);
    assert_eq!(desk.json(&["ps"]), json!([]));
    let over = &desk.json(&["ps", "--all"])[0];
    assert_eq!(over["state"], "closed", "{over}");
    let proof = match live["tier"].as_str() {
        Some("cgroup") => "cgroup_empty",
        _ => "subreaper_empty",
    };
    assert_eq!(over["proof"], proof, "{over}");
    assert!(
        desk.ok(&["execution", "dismiss", name])
            .contains("nothing of it is left")
    );
    desk.fails(1, &["execution", "dismiss", "no-such-execution"]);
}

/// What was made for an attempt that could not start has a verdict, as everything has.
#[test]
fn an_execution_that_could_not_be_made_ready_is_closed() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "any", "steps": [{"final": "Done."}]}]));
    let card = desk.send("Work in a repository that goes away");
    std::fs::rename(desk.path("repo"), desk.path("moved")).expect("moved");
    let outside = |args: &[&str]| {
        desk.panel(args)
            .current_dir(desk.path("outside"))
            .output()
            .expect("it runs")
    };
    assert!(outside(&["run", "--once"]).status.success());
    let listed = outside(&["ps", "--all", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let executions = listed.as_array().expect("executions");
    assert!(!executions.is_empty(), "card {card} was not begun");
    for execution in executions {
        assert_eq!(execution["state"], "closed", "{execution}");
    }
}

#[test]
fn a_stopped_card_waits_for_a_message_and_then_gets_all_of_it() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([
        {"when": "turn", "contains": "Instead", "steps": [desk.count("second"), {"final": "{prompt}"}]},
        {"when": "first", "steps": [here, wait, {"final": "Never said."}]}]));
    let card = desk.send("Do this");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    desk.ok(&["stop", &card]);
    daemon.kill();
    desk.run_once();
    assert_eq!(desk.lines("second"), 0, "a stopped card is ready for nothing");
    desk.ok(&["send", "--card", &card, "Instead do that"]);
    desk.run_once();
    let said = desk.said_by(&card, "agent");
    assert!(
        said[0].contains("Do this") && said[0].contains("Instead do that"),
        "{said:?}"
    );
}

#[test]
fn a_stop_names_the_landing_that_it_does_not_end() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [
        {"write_file": {"path": "a.txt", "text": "a\n"}}, {"commit": "Add a"}, {"final": "Done."}]}]));
    let card = desk.send("Add a");
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.crash_at("L3");
    let landing = desk.card(&card)["landings"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let told = desk.ok(&["stop", &card]);
    let short = &landing[landing.len() - 8..];
    assert!(
        told.contains(&format!("its landing {short} had begun and ")),
        "{told}"
    );
    assert!(!told.contains("nothing"), "{told}");
}

#[test]
fn what_an_agent_leaves_behind_is_ended_and_its_answer_kept() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [
        {"spawn": {"kind": "double_fork", "seconds": 600}}, {"final": "Done."}]}]));
    let card = desk.send("Leave something");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    assert!(desk.agents().is_empty(), "{:?}", desk.processes());
}

#[test]
fn an_agent_that_stops_its_own_shim_is_closed_with_proof() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    let stop_parent =
        json!({"run": ["sh", "-c", "read -r _ _ _ shim _ < /proc/$PPID/stat; kill -STOP $shim"]});
    desk.script(&json!([{"when": "first", "steps": [stop_parent, here, wait, {"final": "Never said."}]}]));
    let card = desk.send("Freeze your keeper");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    desk.ok(&["stop", &card]);
    assert!(desk.agents().is_empty(), "{:?}", desk.processes());
    desk.no_process_but_the_daemon_is_left();
    daemon.kill();
}

#[test]
fn a_stop_whose_daemon_dies_meanwhile_closes_the_tree_itself() {
    let desk = Desk::new();
    let card = hostile(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    all_children_live(&desk);
    let mut stop = desk.panel(&["stop", &card]).spawn().expect("it starts");
    desk.until("the card is stopped on the record", || {
        (desk.card(&card)["card"]["state"] == "stopped").then_some(())
    });
    daemon.kill();
    assert!(stop.wait().expect("it ends").success());
    stopped(&desk, &card);
}

#[test]
fn stops_at_once_without_a_daemon_all_wait_for_the_end() {
    let desk = Desk::new();
    let card = hostile(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    all_children_live(&desk);
    daemon.kill();
    let stops = [(); 4].map(|()| desk.panel(&["stop", &card]).spawn().expect("it starts"));
    for mut stop in stops {
        assert!(stop.wait().expect("it ends").success());
    }
    stopped(&desk, &card);
}

#[test]
fn an_agent_that_is_not_configured_any_more_is_stopped_all_the_same() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [here, wait, {"final": "Never said."}]}]));
    let card = desk.send("Wait for me");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    desk.forget_agents();
    desk.ok(&["stop", &card]);
    desk.no_process_is_left();
    assert_eq!(desk.card(&card)["card"]["state"], "stopped");
}

/// The command that stops dies before it has closed the agent, whose process is not on the row either; then more is said, so that
/// the card may start at once. Invariant 1.
#[test]
fn what_was_stopped_is_closed_before_the_next_attempt_starts() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    let pid = desk.path("outside/pid").display().to_string();
    let is_gone = format!("! grep -q __agent-script /proc/$(cat '{pid}')/cmdline");
    desk.script(&json!([
        {"when": "any", "contains": "Go on", "steps": [
            {"run": ["sh", "-c", is_gone]}, desk.count("second"), {"final": "Done."}]},
        {"when": "any", "steps": [
            "ignore_signals", {"run": ["sh", "-c", format!("echo $PPID > '{pid}'")]}, here, wait]}]));
    let card = desk.send("Misbehave");
    desk.crash_at("P9");
    desk.until_there(&desk.path("outside/gate"));
    let mut stop = desk.panel(&["stop", &card]).spawn().expect("it starts");
    desk.until("the card is stopped on the record", || {
        (desk.card(&card)["card"]["state"] == "stopped").then_some(())
    });
    stop.kill().expect("it is there");
    stop.wait().expect("it ends");
    assert!(desk.is_alive("pid"), "the stop ended before it was killed");
    desk.ok(&["send", "--card", &card, "Go on"]);
    desk.run_once();
    assert!(!desk.is_alive("pid"));
    assert_eq!(
        desk.lines("second"),
        1,
        "the next attempt found the first one gone"
    );
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
    desk.no_process_is_left();
}

/// Its message waits for a process, and for nobody's answer.
#[test]
fn a_card_whose_former_agent_is_not_proven_gone_says_that_it_waits_for_its_end() {
    let desk = Desk::new();
    let card = hostile(&desk);
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    desk.until("its process is on the record", || {
        let log = std::fs::read_to_string(desk.path("daemon.log")).expect("it wrote something");
        log.contains("agent scripted, pid").then_some(())
    });
    daemon.kill();
    let mut stop = desk.panel(&["stop", &card]).spawn().expect("it starts");
    desk.until("the card is stopped on the record", || {
        (desk.card(&card)["card"]["state"] == "stopped").then_some(())
    });
    stop.kill().expect("it is there");
    stop.wait().expect("it ends");
    desk.ok(&["send", "--card", &card, "Go on"]);
    for list in [&["cards"][..], &["show", &card]] {
        let shown = desk.ok(list);
        assert!(shown.contains("waits for the end of its former agent"), "{shown}");
    }
    desk.ok(&["stop", &card]);
    desk.no_process_is_left();
}

/// Runs the binary where no file may grow, as on a disk that is full; returns what it says on standard error.
fn without_room(desk: &Desk, args: &[&str]) -> String {
    let panel = desk.panel(args);
    let mut words = vec![panel.get_program().to_owned()];
    words.extend(panel.get_args().map(std::ffi::OsStr::to_owned));
    let mut shell = desk.shell("ulimit -f 0; trap '' XFSZ; exec \"$@\"");
    let output = shell.arg("sh").args(words).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[test]
fn a_stop_that_the_record_cannot_be_told_ends_the_agent_and_a_daemon_tells_it_later() {
    for with_daemon in [true, false] {
        let desk = Desk::new();
        let [here, wait] = desk.gate("gate");
        desk.script(&json!([{"when": "any", "steps": [
            desk.count("starts"), here, wait, {"final": "Never said."}]}]));
        let card = desk.send("Wait for me");
        let daemon = desk.daemon();
        desk.until_there(&desk.path("outside/gate"));
        let daemon = if with_daemon {
            Some(daemon)
        } else {
            daemon.kill();
            None
        };
        let said = without_room(&desk, &["stop", &card]);
        assert!(said.contains("1 agent of card"), "{said}");
        assert!(said.contains("could not be told"), "{said}");
        assert!(desk.agents().is_empty(), "{:?}", desk.processes());
        if let Some(daemon) = daemon {
            desk.until("the record knows", || {
                (desk.card(&card)["card"]["state"] == "stopped").then_some(())
            });
            daemon.kill();
        }
        desk.run_once();
        let detail = desk.card(&card);
        assert_eq!(detail["card"]["state"], "stopped", "{detail}");
        assert_eq!(detail["runs"][0]["state"], "stopped", "{detail}");
        assert_eq!(detail["turns"][0]["state"], "pending", "{detail}");
        assert_eq!(desk.lines("starts"), 1, "it is not tried again");
    }
}

/// Once it goes on at once, after that it waits longer and longer.
#[test]
fn an_agent_that_kills_its_own_shim_is_not_started_again_and_again_without_a_pause() {
    let desk = Desk::new();
    let kill_shim =
        json!({"run": ["sh", "-c", "read -r _ _ _ shim _ < /proc/$PPID/stat; kill -KILL $shim; sleep 60"]});
    desk.script(
        &json!([{"when": "any", "steps": [desk.count("starts"), kill_shim, {"final": "Never said."}]}]),
    );
    let card = desk.send("Kill your keeper");
    let told = desk.run_once();
    assert!(told.contains("something becomes ready"), "{told}");
    assert_eq!(desk.lines("starts"), 2, "{told}");
    let run = &desk.card(&card)["runs"][0];
    assert_eq!(run["state"], "interrupted", "{run}");
    assert!(run["again_at"].is_string() && run["tries"] == 0, "{run}");
    desk.no_process_is_left();
}

#[test]
fn a_stop_of_a_card_that_waits_for_its_person_says_that_it_is_stopped() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "any", "steps": [{"final": "Done."}]}]));
    let card = desk.send("Work");
    desk.run_once();
    let told = desk.ok(&["stop", &card]);
    assert!(told.contains("it is stopped; nothing of it ran"), "{told}");
    let again = desk.ok(&["stop", &card]);
    assert!(
        again.contains("there was nothing to stop, it is stopped"),
        "{again}"
    );
}
