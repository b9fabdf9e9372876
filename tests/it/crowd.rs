//! Many commands at once beside a daemon: they share one file, and nobody hears of it.

use serde_json::{Value, json};

use crate::desk::Desk;

const COMMANDS: usize = 10;
const ROUNDS: usize = 3;

/// Messages and lists at once, while agents start and end. Each message is answered once.
#[test]
fn commands_beside_a_daemon_never_hear_that_the_record_is_locked() {
    let desk = Desk::new();
    desk.script(&json!([{"when": "first", "steps": [desk.count("starts"), {"final": "Done."}]}]));
    let daemon = desk.daemon();
    std::thread::scope(|scope| {
        for at in 0..COMMANDS {
            let desk = &desk;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    if at % 2 == 0 {
                        send_outside(desk, &format!("Message {at} of round {round}"));
                    } else {
                        desk.json(&["cards", "--all"]);
                        desk.ok(&["asks"]);
                    }
                }
            });
        }
    });
    let sent = COMMANDS / 2 * ROUNDS;
    desk.until("every message is answered", || {
        let cards = desk.json(&["cards", "--all"]);
        let cards = cards.as_array().expect("cards").clone();
        assert_eq!(cards.len(), sent);
        let is_answered = |card: &Value| card["waiting_turns"] == 0 && card["live"].is_null();
        cards.iter().all(is_answered).then_some(())
    });
    for card in desk.json(&["cards", "--all"]).as_array().expect("cards") {
        let card = card["card"]["id"].as_str().expect("an id");
        assert_eq!(desk.said_by(card, "agent"), ["Done."]);
    }
    assert_eq!(desk.lines("starts"), sent, "each was started once");
    let log = std::fs::read_to_string(desk.state().join("log")).unwrap_or_default();
    let said = std::fs::read_to_string(desk.path("daemon.log")).expect("it is written");
    for text in [log, said] {
        assert!(!text.contains("is locked"), "{text}");
    }
    drop(daemon);
}

/// Sends without a repository around, so that agents need no tree.
fn send_outside(desk: &Desk, message: &str) {
    let sent = desk
        .panel(&["send", message])
        .current_dir(desk.path("outside"))
        .output();
    let sent = sent.expect("it runs");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}
