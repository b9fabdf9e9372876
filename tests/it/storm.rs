//! The daemon, shims and agents are killed at random while people keep twenty cards at work.
//!
//! `cargo xtask torture --minutes 5` plays it long; here it takes some seconds.
#![expect(
    clippy::disallowed_methods,
    reason = "a test is told how long it plays, and waits at random before it kills"
)]

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::desk::{Desk, kill};

/// How long it is played without `CS_PANEL_STORM_SECONDS`.
const SECONDS: u64 = 8;
/// So much longer at most until it has hit one of each kind.
const SLOW: Duration = Duration::from_secs(60);
/// So many cards are worked on all the time.
const CARDS: usize = 20;
/// Each agent leaves such processes; nothing else has this number of seconds.
const LEFT_FOR: u64 = 86_123;

/// Every turn is answered, or its card failed with a reason; no process of ours lives; every execution has a verdict; and what an
/// answer was about is in the card's branch. Invariant 7. Invariant 8. Invariant 9. Invariant 11. Invariant 12. PS-7.
#[test]
fn daemon_shims_and_agents_killed_at_random_leave_nothing_and_lose_nothing() {
    let play_for = Duration::from_secs(from_env("CS_PANEL_STORM_SECONDS").unwrap_or(SECONDS));
    let seed = from_env("CS_PANEL_STORM_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let desk = storm_desk();
    let storm = Storm::new(play_for);
    std::thread::scope(|scope| {
        let (storm, desk) = (&storm, &desk);
        let rng = |thread: u64| Rng::with_seed(seed ^ thread);
        scope.spawn(move || kill_daemons(desk, storm, &mut rng(0)));
        scope.spawn(move || kill_some(desk, "__shim", storm, &storm.shims, &mut rng(1)));
        scope.spawn(move || kill_some(desk, "__agent-script", storm, &storm.agents, &mut rng(2)));
        write_until(desk, storm, &mut rng(3));
    });
    let daemon = desk.daemon();
    desk.until("every card is answered or failed", || {
        let cards = cards(&desk);
        // A person who does not wait for the next try, so that the end comes soon.
        for waiting in cards.iter().filter(|card| waits_for_a_try(card)) {
            // It may have begun meanwhile, and says so.
            let _ = desk.panel(&["retry", id(waiting)]).output().expect("it runs");
        }
        cards.iter().all(is_settled).then_some(())
    });
    drop(daemon);
    let said = desk.run_once();
    assert!(said.contains("idle"), "nothing is left in the ledger: {said}");
    desk.no_process_is_left();
    let executions = every_execution_has_a_verdict(&desk);
    let played = cards(&desk);
    let counts: Vec<Counts> = played.iter().map(|card| judged(&desk, card)).collect();
    assert_eq!(
        desk.git(&["status", "--porcelain"]),
        "",
        "the person's own tree is as it was"
    );
    let sum = |of: fn(&Counts) -> usize| counts.iter().map(of).sum::<usize>();
    let (turns, answers, failed) = (sum(|it| it.turns), sum(|it| it.answers), sum(|it| it.failed));
    let kills = storm.kills();
    println!(
        "{turns} turns on {} cards: {answers} answers, {failed} cards failed at the end with a reason; {} agents started, \
         {} daemons, {} shims and {} processes of agents killed; executions by what proves their end: {executions:?}",
        played.len(),
        desk.lines("starts"),
        kills[0],
        kills[1],
        kills[2],
    );
    assert!(kills.iter().all(|count| *count > 0), "it was no storm: {kills:?}");
    assert!(answers > 0, "nobody answered");
}

/// How long it blows, and whom it has hit.
struct Storm {
    end: Instant,
    daemons: AtomicU32,
    shims: AtomicU32,
    agents: AtomicU32,
}

impl Storm {
    fn new(play_for: Duration) -> Self {
        let zero = || AtomicU32::new(0);
        Self {
            end: Instant::now() + play_for,
            daemons: zero(),
            shims: zero(),
            agents: zero(),
        }
    }

    fn kills(&self) -> [u32; 3] {
        [&self.daemons, &self.shims, &self.agents].map(|count| count.load(Ordering::Relaxed))
    }

    /// On a slow machine it blows on until it has hit one of each.
    fn goes_on(&self) -> bool {
        let now = Instant::now();
        now < self.end || now < self.end + SLOW && self.kills().contains(&0)
    }
}

/// Agents that work in a tree, commit, take a moment, and leave processes behind that have left their session.
fn storm_desk() -> Desk {
    let desk = Desk::new();
    let config = desk.path("home/.config/cs-panel");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "slots = 6\n").expect("written");
    let child = |kind: &str| json!({"spawn": {"kind": kind, "seconds": LEFT_FOR}});
    let line = json!({"append_file": {"path": "work.txt", "text": "One step.\n"}});
    let steps = [
        desk.count("starts"),
        child("setsid"),
        child("double_fork"),
        line,
        json!({"commit": "One step"}),
        json!({"wait": {"ms": 150}}),
        json!({"final": "Done."}),
    ];
    desk.script(&json!([{"when": "any", "steps": steps}]));
    desk
}

fn kill_daemons(desk: &Desk, storm: &Storm, rng: &mut Rng) {
    while storm.goes_on() {
        let daemon = desk.daemon();
        // Half of them early in its life, where it takes up what the last one left.
        let most = if rng.bool() { 300 } else { 4_000 };
        std::thread::sleep(Duration::from_millis(rng.u64(20..most)));
        daemon.kill();
        storm.daemons.fetch_add(1, Ordering::Relaxed);
    }
}

/// Kills one process of the desk after the other that has this word on its command line.
fn kill_some(desk: &Desk, word: &str, storm: &Storm, kills: &AtomicU32, rng: &mut Rng) {
    while storm.goes_on() {
        std::thread::sleep(Duration::from_millis(rng.u64(100..1_500)));
        let live = desk.processes();
        let of_ours: Vec<&String> = live.iter().filter(|line| line.contains(word)).collect();
        let Some(line) = rng.choice(&of_ours) else {
            continue;
        };
        if kill(line) {
            kills.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Keeps so many cards at work: a card that was answered or failed gets another turn, or somebody tries it again.
fn write_until(desk: &Desk, storm: &Storm, rng: &mut Rng) {
    for number in 0..CARDS {
        desk.send(&format!("Work {number}"));
    }
    while storm.goes_on() {
        std::thread::sleep(Duration::from_millis(50));
        let cards = cards(desk);
        let Some(card) = rng.choice(&cards) else { continue };
        if is_settled(card) {
            desk.ok(&["send", "--card", id(card), "And again"]);
        } else if waits_for_a_try(card) {
            let _ = desk.panel(&["retry", id(card)]).output().expect("it runs");
        }
    }
}

fn cards(desk: &Desk) -> Vec<Value> {
    let cards = desk.json(&["cards", "--all"]);
    cards.as_array().expect("cards").clone()
}

fn id(summary: &Value) -> &str {
    summary["card"]["id"].as_str().expect("an id")
}

fn has_failed(summary: &Value) -> bool {
    summary["card"]["state"] == "failed"
}

/// Nothing of it is at work or due: its turns are answered, or it failed.
fn is_settled(summary: &Value) -> bool {
    summary["live"].is_null()
        && summary["card"]["ready_for"] == "nothing"
        && (summary["waiting_turns"] == 0 || has_failed(summary))
}

fn waits_for_a_try(summary: &Value) -> bool {
    summary["live"].is_null() && summary["card"]["ready_for"] == "resume"
}

/// What became of a card.
struct Counts {
    turns: usize,
    answers: usize,
    failed: usize,
}

/// A person writes again only when the last turn was answered or the card failed, so an answer is to one turn, or to those since a
/// failure: every turn has an answer after it, or the card failed with a reason, and no two answers follow each other.
fn judged(desk: &Desk, summary: &Value) -> Counts {
    let card = id(summary);
    let failed = has_failed(summary);
    let detail = desk.card(card);
    let said: Vec<&str> = detail["turns"]
        .as_array()
        .expect("turns")
        .iter()
        .map(|turn| turn["author"]["kind"].as_str().expect("a kind"))
        .filter(|kind| *kind != "system")
        .collect();
    let (turns, answers) = (said.iter().filter(|kind| **kind == "person").count(), said.len());
    let answers = answers - turns;
    assert!(
        !said.windows(2).any(|pair| pair == ["agent", "agent"]),
        "a turn is answered twice: {detail}"
    );
    assert_eq!(
        said.last() == Some(&"person"),
        failed,
        "the last turn is answered, or its card failed: {detail}"
    );
    if failed {
        let reason = summary["card"]["reason"].as_str().unwrap_or_default();
        assert!(!reason.is_empty(), "it failed without a reason: {summary}");
    }
    let steps = steps_of(desk, card);
    assert!(
        steps >= answers,
        "{steps} steps are in the branch of {card}, with {answers} answers"
    );
    Counts {
        turns,
        answers,
        failed: usize::from(failed),
    }
}

/// How many steps the card's branch in the person's repository holds.
fn steps_of(desk: &Desk, card: &str) -> usize {
    let of_card = format!("refs/heads/cs/{}*", &card[card.len() - 8..]);
    let branch = desk.git(&["for-each-ref", "--format=%(refname)", &of_card]);
    match branch.trim() {
        "" => 0,
        branch => desk.git(&["show", &format!("{branch}:work.txt")]).lines().count(),
    }
}

/// Counts the executions by what proves their end.
fn every_execution_has_a_verdict(desk: &Desk) -> BTreeMap<String, usize> {
    assert_eq!(desk.json(&["ps"]), json!([]), "of nothing may something be left");
    let all = desk.json(&["ps", "--all"]);
    let mut proofs = BTreeMap::new();
    for execution in all.as_array().expect("executions") {
        assert_eq!(execution["state"], "closed", "{execution}");
        let proof = execution["proof"].as_str().expect("a proof").to_owned();
        *proofs.entry(proof).or_default() += 1;
    }
    proofs
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number, not {text}")),
    )
}
