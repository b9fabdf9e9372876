//! Several machines on one record.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::record::Record;

const CARDS: usize = 100;

/// Two daemons that stay work a hundred cards: each is started once, by one of them, and answered once.
#[test]
fn two_machines_work_a_hundred_cards_exactly_once() {
    let record = Arc::new(Record::new());
    let desks = [Desk::on(Arc::clone(&record)), Desk::on(Arc::clone(&record))];
    for desk in &desks {
        desk.script(&json!([{"when": "first", "steps": [desk.count("starts"), {"final": "Done."}]}]));
    }
    // Cards without a codebase: each machine may have any of them.
    for number in 0..CARDS {
        let outside = desks[number % 2].path("outside");
        let sent = desks[number % 2]
            .panel(&["send", &format!("Work {number}")])
            .current_dir(outside)
            .output()
            .expect("it runs");
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    }
    let daemons = [desks[0].daemon(), desks[1].daemon()];
    desks[0].until("every turn is answered", || {
        (record.sql("select count(*) from turns where state <> 'settled'") == "0").then_some(())
    });
    drop(daemons);
    let starts = desks.each_ref().map(|desk| desk.lines("starts"));
    assert_eq!(starts[0] + starts[1], CARDS, "{starts:?}");
    assert!(starts[0] > 0 && starts[1] > 0, "both had work: {starts:?}");
    let answers = record
        .sql("select count(*) || ' ' || count(distinct card_id) from turns where author_kind = 'agent'");
    assert_eq!(answers, format!("{CARDS} {CARDS}"));
    let runs =
        record.sql("select count(*) || ' ' || max(epoch) || ' ' || count(distinct machine_id) from runs");
    assert_eq!(runs, format!("{CARDS} 1 2"));
    let cards = desks[1].json(&["cards", "--all"]);
    let cards = cards.as_array().expect("cards").iter();
    let ids: BTreeSet<&str> = cards.filter_map(|card| card["card"]["id"].as_str()).collect();
    assert_eq!(ids.len(), CARDS, "every machine sees every card");
}

/// A turn that another machine sends wakes the daemon long before it looks by itself, and a stop that it asks for is served.
#[test]
fn a_daemon_hears_what_another_machine_writes() {
    let record = Arc::new(Record::new());
    let (here, there) = (Desk::on(Arc::clone(&record)), Desk::on(Arc::clone(&record)));
    let gate = here.gate("gate");
    let steps: Vec<Value> = [
        vec![here.count("starts")],
        gate.to_vec(),
        vec![json!({"final": "Done."})],
    ]
    .concat();
    for desk in [&here, &there] {
        desk.script(&json!([{"when": "first", "steps": steps}]));
    }
    let daemon = here.daemon();
    here.until("it is present", || {
        (record.sql("select count(*) from machines") == "1").then_some(())
    });
    let sent = there
        .panel(&["send", "Wait for me", "--json"])
        .current_dir(there.path("outside"))
        .output()
        .expect("it runs");
    let sent: Value = serde_json::from_slice(&sent.stdout).expect("JSON");
    let card = sent["card"].as_str().expect("a card");
    let began = std::time::Instant::now();
    here.until_there(&here.path("outside").join("gate"));
    assert!(
        began.elapsed().as_secs() < 20,
        "it looks by itself only every 30 s"
    );
    there.panel(&["stop", card]).output().expect("it runs");
    here.no_agent_is_left();
    drop(daemon);
}

/// A repository becomes this machine's checkout of a codebase that another machine has registered, when it is given that name.
#[test]
fn a_second_machine_has_a_checkout_of_the_same_codebase() {
    let record = Arc::new(Record::new());
    let desks = [Desk::on(Arc::clone(&record)), Desk::on(record)];
    for desk in &desks {
        desk.script(&json!([{"when": "any", "steps": [{"final": "Done."}]}]));
        desk.ok(&["codebase", "add", "--name", "shared"]);
        let listed = desk.json(&["codebase", "list"]);
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
        assert!(listed[0]["path"].is_string(), "{listed}");
    }
    let sent = desks[0].json(&["send", "--codebase", "shared", "Work"]);
    let card = sent["card"].as_str().expect("an id");
    desks[1].run_once();
    assert_eq!(desks[1].said_by(card, "agent"), ["Done."]);
}
