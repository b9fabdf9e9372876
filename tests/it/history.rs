//! What happened to a card, as the record tells it.

use serde_json::{Value, json};

use crate::desk::Desk;

/// The kinds of what happened, in order.
fn kinds(told: &Value) -> Vec<String> {
    let told = told.as_array().expect("a list");
    let kind = |told: &Value| told["event"]["what"]["kind"].as_str().map(ToOwned::to_owned);
    told.iter().map(|told| kind(told).expect("a kind")).collect()
}

/// Checks that these happened in this order, whatever was between them.
fn check_order(kinds: &[String], expected: &[&str]) {
    let mut rest = kinds.iter();
    for kind in expected {
        assert!(
            rest.any(|known| known == kind),
            "no {kind} in its place: {kinds:?}"
        );
    }
}

#[test]
fn everything_that_happened_to_a_card_is_told_with_its_time() {
    let desk = Desk::new();
    desk.script(&json!([
        {"when": "first", "steps": [{"exit": 1}]},
        {"when": "retry", "steps": [{"ask": {"question": "Formal?", "choices": ["yes", "no"]}}]},
        {"when": "answer", "steps": [
            {"write_file": {"path": "hello.txt", "text": "Hello.\n"}}, {"commit": "Add a greeting"},
            {"offer_landing": {"summary": "A greeting"}}, {"final": "Done."}]}]));
    let card = desk.send("Greet the reader");
    desk.run_once();
    desk.ok(&["retry", &card]);
    desk.run_once();
    desk.ok(&["answer", &card, "yes"]);
    desk.run_once();
    desk.ok(&["land", &card]);
    desk.run_once();

    let told = desk.json(&["history", &card]);
    let kinds = kinds(&told);
    check_order(
        &kinds,
        &[
            "made",
            "said",
            "claimed",
            "started",
            "failed",
            "retried",
            "claimed",
            "started",
            "asked",
            "waits_for_answer",
            "answered",
            "claimed",
            "started",
            "asked",
            "waits_for_answer",
            "landing_accepted",
            "landing_taken",
            "landing_over",
            "card_landed",
        ],
    );
    for kind in ["claimed", "started", "gone"] {
        assert_eq!(
            kinds.iter().filter(|known| *known == kind).count(),
            3,
            "{kind}: {kinds:?}"
        );
    }
    let times: Vec<&str> = told
        .as_array()
        .expect("a list")
        .iter()
        .map(|told| told["event"]["at"].as_str().expect("a time"))
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let words = desk.ok(&["history", &card]);
    assert_eq!(words.lines().count(), kinds.len(), "{words}");
    for said in [
        "turn 1 by ",
        "claimed for the owner",
        "settled: failed (agent)",
        "landed as ",
        "attempt 3",
    ] {
        assert!(words.contains(said), "no `{said}` in {words}");
    }
}
