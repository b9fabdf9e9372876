//! The record goes away under a daemon, or is another one.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::desk::Desk;

/// Moves the file of the record and its companions.
fn move_record(from: &Path, to: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let name = format!("record.db{ending}");
        if from.join(&name).exists() {
            fs::rename(from.join(&name), to.join(&name)).expect("it is moved");
        }
    }
}

/// The daemon says what to do, its agent goes on, it leaves when it is told to, and once the record is back it is answered.
#[test]
fn a_daemon_whose_record_is_taken_away_keeps_its_agent_says_the_cure_and_leaves_when_told() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "first", "steps": [here, wait, {"final": "Done."}]}]));
    let card = desk.send("Work");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    let log = || fs::read_to_string(desk.path("daemon.log")).expect("it wrote something");
    move_record(&desk.state(), &desk.path("outside"));
    desk.until("it says so", || log().contains("put it back").then_some(()));
    // Somebody makes another record in its place: no run is gone for that.
    desk.ok(&["cards"]);
    desk.until("it says so", || log().contains("is another record").then_some(()));
    assert_eq!(desk.agents().len(), 1);
    let log = daemon.interrupt(&desk);
    assert!(log.contains("left: 1 agent runs on"), "{log}");
    assert!(!log.contains("counts no more"), "{log}");
    for ending in ["", "-wal", "-shm"] {
        // The companions go with the last who leaves.
        let _ = fs::remove_file(desk.state().join(format!("record.db{ending}")));
    }
    move_record(&desk.path("outside"), &desk.state());
    desk.open_gate("gate");
    desk.run_once();
    assert_eq!(desk.said_by(&card, "agent"), ["Done."]);
}

/// The record is not asked about what stands still here.
#[test]
fn an_agent_is_paused_and_goes_on_also_while_the_record_cannot_be_used() {
    let desk = Desk::new();
    let [here, wait] = desk.gate("gate");
    desk.script(&json!([{"when": "any", "steps": [here, wait, {"final": "Done."}]}]));
    let card = desk.send("Wait");
    let daemon = desk.daemon();
    desk.until_there(&desk.path("outside/gate"));
    daemon.kill();
    let (record, aside) = (desk.state().join("record.db"), desk.path("outside/record.db"));
    fs::rename(&record, &aside).expect("it is moved");
    fs::create_dir(&record).expect("something else is in its place");
    desk.ok(&["pause", &card]);
    assert!(desk.all_agents_stand_still(), "{:?}", desk.agents());
    let refused = desk.fails(1, &["stop", "--", "----"]);
    assert!(refused.contains("no agent of it runs"), "{refused}");
    desk.ok(&["resume", &card]);
    assert!(!desk.all_agents_stand_still());
    fs::remove_dir(&record).expect("it is empty");
    fs::rename(&aside, &record).expect("it is moved back");
    desk.ok(&["stop", &card]);
}
