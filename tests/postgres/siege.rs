//! Two daemons on one record, each killed at random again and again while people write.
//!
//! `cargo xtask torture daemons` plays it for two minutes; here it takes some seconds.
#![expect(
    clippy::disallowed_methods,
    reason = "a test is told how long it plays, and waits at random before it kills"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::json;

use crate::desk::Desk;
use crate::record::Record;

/// How long it is played without `CS_PANEL_SIEGE_SECONDS`.
const SECONDS: u64 = 8;
/// So many turns wait or are worked on at once, so that a kill always hits something.
const WAITING: usize = 6;

/// Each turn is answered once, by an agent that was started once, whoever was killed when. Invariant 3. Invariant 8. Invariant 9.
#[test]
fn two_daemons_killed_at_random_answer_every_turn_once() {
    let play_for = Duration::from_secs(from_env("CS_PANEL_SIEGE_SECONDS").unwrap_or(SECONDS));
    let seed = from_env("CS_PANEL_SIEGE_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let record = Arc::new(Record::new());
    let desks = [Desk::on(Arc::clone(&record)), Desk::on(Arc::clone(&record))];
    for desk in &desks {
        let steps = [
            desk.count("starts"),
            json!({"wait": {"ms": 40}}),
            json!({"final": "Done."}),
        ];
        desk.script(&json!([{"when": "any", "steps": steps}]));
    }
    let (kills, end) = (AtomicU32::new(0), Instant::now() + play_for);
    let turns = std::thread::scope(|scope| {
        for (number, desk) in desks.iter().enumerate() {
            let (kills, mut rng) = (&kills, Rng::with_seed(seed ^ number as u64));
            scope.spawn(move || {
                while Instant::now() < end {
                    let daemon = desk.daemon();
                    // Half of them early in its life, where it takes up what the last one left.
                    let most = if rng.bool() { 200 } else { 1_500 };
                    std::thread::sleep(Duration::from_millis(rng.u64(10..most)));
                    daemon.kill();
                    kills.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        write_until(end, &desks, &record, &mut Rng::with_seed(!seed))
    });
    let daemons = [desks[0].daemon(), desks[1].daemon()];
    desks[0].until("every turn is answered, and every attempt is over", || {
        let left = "select (select count(*) from turns where state <> 'settled')
            + (select count(*) from runs where state = 'running' or pid is not null)";
        (record.sql(left) == "0").then_some(())
    });
    drop(daemons);
    for desk in &desks {
        let said = desk.run_once();
        assert!(said.contains("idle"), "nothing is left in its ledger: {said}");
        desk.no_process_is_left();
    }
    let counted = |kind: &str| {
        record.sql(&format!(
            "select count(*) from turns where author_kind = '{kind}'"
        ))
    };
    let starts = desks.each_ref().map(|desk| desk.lines("starts"));
    println!(
        "{turns} turns on {} cards, {} kills, agents started {starts:?}",
        record.sql("select count(*) from cards"),
        kills.into_inner(),
    );
    assert_eq!(counted("person"), turns.to_string());
    assert_eq!(counted("agent"), turns.to_string(), "each turn has one answer");
    let unlike = "select count(*) from (select card_id from turns group by card_id
        having count(*) filter (where author_kind = 'person') <> count(*) filter (where author_kind = 'agent')) of_card";
    assert_eq!(record.sql(unlike), "0", "each card has as many answers as turns");
    assert_eq!(starts[0] + starts[1], turns, "each turn started one agent");
}

/// Writes to new cards and to cards that were answered, always one turn after the other on a card.
fn write_until(end: Instant, desks: &[Desk; 2], record: &Record, rng: &mut Rng) -> usize {
    let mut turns = 0;
    while Instant::now() < end {
        let desk = &desks[turns % 2];
        let waiting = record.sql("select count(*) from turns where state <> 'settled'");
        if waiting.parse::<usize>().expect("a number") >= WAITING {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let answered = record.sql(
            "select id from cards where not exists
                (select 1 from turns where card_id = cards.id and state <> 'settled') order by id",
        );
        let answered: Vec<&str> = answered.lines().collect();
        let mut send = desk.panel(&["send"]);
        match rng.choice(&answered) {
            Some(card) if rng.bool() => send.args(["--card", card, "And again"]),
            _ => send.arg(format!("Work {turns}")),
        };
        let sent = send.current_dir(desk.path("outside")).output().expect("it runs");
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        turns += 1;
    }
    turns
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number, not {text}")),
    )
}
