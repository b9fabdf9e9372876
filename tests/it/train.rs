//! Ten cards land on one base while its person commits there and the daemon is killed at random.
//!
//! `cargo xtask torture landings` plays it again and again with other seeds.
#![expect(
    clippy::disallowed_methods,
    reason = "a test is told its seed, and waits at random before it kills"
)]

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::desk::Desk;

const CARDS: usize = 10;
/// So many daemons are killed at least, and so many commits of the person come between.
const KILLS_MIN: u32 = 8;
const COMMITS_MIN: u32 = 5;

/// The base holds the work of every card and every commit of the person, each card landed once and in the order of acceptance, what was
/// moved is what was verified, and nothing of the person's was touched. Invariant 12. Invariant 13. P19. G11.
#[test]
fn ten_cards_land_in_order_while_the_person_commits_and_daemons_are_killed() {
    let first = from_env("CS_PANEL_TRAIN_SEED").unwrap_or_else(|| fastrand::u64(..));
    let end = Instant::now() + Duration::from_secs(from_env("CS_PANEL_TRAIN_SECONDS").unwrap_or(0));
    let mut rides = 0;
    while rides == 0 || Instant::now() < end {
        let seed = first.wrapping_add(rides);
        println!("seed {seed}");
        let (commits, kills) = ride(seed);
        println!(
            "{CARDS} cards landed in order between {commits} commits of a person; {kills} daemons killed"
        );
        rides += 1;
    }
}

/// Returns how often the person committed, and how many daemons were killed.
fn ride(seed: u64) -> (u32, u32) {
    let desk = desk();
    let cards: Vec<String> = (0..CARDS).map(|n| desk.send(&format!("Work {n}"))).collect();
    desk.run_once();
    fs::write(desk.path("repo/draft.txt"), "of the person, not committed\n").expect("written");
    for card in &cards {
        desk.ok(&["land", card]);
    }
    let ride = Ride::default();
    let mut accepted = cards.clone();
    std::thread::scope(|scope| {
        let (ride, desk) = (&ride, &desk);
        scope.spawn(move || kill_daemons(desk, ride, &mut Rng::with_seed(seed)));
        scope.spawn(move || commit(desk, ride, &mut Rng::with_seed(seed ^ 1)));
        let _over = Over(ride);
        for number in 1..=CARDS {
            desk.until("one more card has landed", || {
                accept_again(desk, &mut accepted);
                (landed(desk) >= number).then_some(())
            });
        }
        desk.until("it was wild", || ride.was_wild().then_some(()));
    });
    let said = desk.run_once();
    assert!(said.contains("idle"), "nothing is left in the ledger: {said}");
    desk.no_process_is_left();
    judge(&desk, &accepted, &ride);
    (
        ride.commits.load(Ordering::Relaxed),
        ride.kills.load(Ordering::Relaxed),
    )
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number, not {text}")),
    )
}

/// What goes on beside the landings.
#[derive(Default)]
struct Ride {
    over: AtomicBool,
    kills: AtomicU32,
    commits: AtomicU32,
}

impl Ride {
    fn was_wild(&self) -> bool {
        self.kills.load(Ordering::Relaxed) >= KILLS_MIN && self.commits.load(Ordering::Relaxed) >= COMMITS_MIN
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }
}

/// Ends the ride with the test, also where that fails.
struct Over<'a>(&'a Ride);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

/// Each agent commits a file that bears its card's name. The verify command notes what it ran on.
fn desk() -> Desk {
    let desk = Desk::new();
    let write = "echo \"$CS_PANEL_CARD\" > \"card-$CS_PANEL_CARD.txt\"";
    desk.script(&json!([{"when": "any", "steps": [
        {"run": ["sh", "-c", write]}, {"commit": "Write it"},
        {"offer_landing": {"summary": "A file"}}, {"final": "Done."}]}]));
    let verified = desk.path("outside/verified");
    let verify = format!(
        "test -e README && git rev-parse HEAD >> '{}' && sleep 0.1",
        verified.display()
    );
    desk.ok(&["codebase", "add", "--name", "repo"]);
    desk.ok(&["codebase", "set", "repo", "--verify", &verify]);
    desk
}

fn kill_daemons(desk: &Desk, ride: &Ride, rng: &mut Rng) {
    while ride.goes_on() {
        let daemon = desk.daemon();
        // Half of them early in its life, where it takes up what the last one left; the others live long enough on a slow machine.
        let lives = if rng.bool() { 20..500 } else { 1_000..5_000 };
        std::thread::sleep(Duration::from_millis(rng.u64(lives)));
        daemon.kill();
        ride.kills.fetch_add(1, Ordering::Relaxed);
    }
}

/// Commits on the checked-out base, as its person does: beside a landing git may find its index locked, and they try again.
fn commit(desk: &Desk, ride: &Ride, rng: &mut Rng) {
    while ride.goes_on() {
        let number = ride.commits.load(Ordering::Relaxed);
        // More and more seldom: a base that never rests for as long as a verify takes is landed on by nobody.
        std::thread::sleep(Duration::from_millis(
            rng.u64(50..600) * u64::from(number / 3 + 1),
        ));
        let name = format!("mine-{number}.txt");
        fs::write(desk.path("repo").join(&name), "mine\n").expect("written");
        let script = format!(
            "git add {name} && git -c user.name=Ada -c user.email=ada@example.org commit --quiet --only -m 'Mine {number}' -- {name}"
        );
        desk.until("the person has committed", || {
            let done = desk.shell(&script).output().expect("it runs");
            done.status.success().then_some(())
        });
        ride.commits.fetch_add(1, Ordering::Relaxed);
    }
}

/// A landing that met the person at work is refused with the reason, and the person accepts it again.
fn accept_again(desk: &Desk, accepted: &mut Vec<String>) {
    for card in accepted.clone() {
        let detail = desk.card(&card);
        let landings = detail["landings"].as_array().expect("landings");
        let is_over = |landing: &Value| !landing["ended_at"].is_null();
        if detail["card"]["state"] != "landed" && landings.iter().all(is_over) {
            let refused = landings.iter().all(|landing| landing["state"] == "refused");
            assert!(refused, "only the person is in the way: {detail}");
            desk.ok(&["land", &card]);
            accepted.retain(|other| *other != card);
            accepted.push(card);
        }
    }
}

fn landed(desk: &Desk) -> usize {
    let cards = desk.json(&["cards", "--all"]);
    let cards = cards.as_array().expect("cards").iter();
    cards.filter(|card| card["card"]["state"] == "landed").count()
}

fn judge(desk: &Desk, accepted: &[String], ride: &Ride) {
    let format = "--format=%H %(trailers:key=Cs-Panel-Card,valueonly,separator=%x2C)";
    let log = desk.git(&["log", "--first-parent", "--reverse", format, "main"]);
    let landings: Vec<(&str, &str)> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, card)| !card.is_empty())
        .collect();
    let order: Vec<&str> = landings.iter().map(|(_, card)| *card).collect();
    assert_eq!(order, accepted, "each landed once, in the order of acceptance");
    let verified = fs::read_to_string(desk.path("outside/verified")).expect("it ran");
    let verified: BTreeSet<&str> = verified.lines().collect();
    for (commit, card) in landings {
        assert!(
            verified.contains(commit),
            "{commit} of card {card} was not verified"
        );
        let detail = desk.card(card);
        let landing = detail["landings"]
            .as_array()
            .expect("landings")
            .last()
            .expect("one");
        assert_eq!(
            (&landing["state"], &landing["commit"]),
            (&json!("landed"), &json!(commit)),
            "{detail}"
        );
        assert_eq!(landing["verify"]["commit"], commit, "{detail}");
    }
    let files = desk.git(&["ls-tree", "--name-only", "main"]);
    let files: BTreeSet<&str> = files.lines().collect();
    for card in accepted {
        let short = &card[card.len() - 8..];
        let its = files
            .iter()
            .any(|file| file.starts_with("card-") && file.contains(short));
        assert!(its, "the base lacks the work of {card}: {files:?}");
    }
    for number in 0..ride.commits.load(Ordering::Relaxed) {
        let mine = format!("mine-{number}.txt");
        assert!(files.contains(mine.as_str()), "the base lacks {mine}: {files:?}");
    }
    assert_eq!(desk.git(&["status", "--porcelain"]), "?? draft.txt\n");
    assert_eq!(desk.git(&["stash", "list"]), "");
    desk.git(&["fsck", "--strict", "--no-dangling"]);
}
