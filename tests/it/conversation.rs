//! A conversation of twenty turns with one card: questions, corrections of an agent at work, stops, a landing and what comes after it;
//! with and without a daemon that is killed all the time. OW-14, OW-18, P24.
#![expect(
    clippy::disallowed_methods,
    reason = "a daemon is killed at a random moment, so it is waited for without a reason"
)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::record::texts;

/// The longest life of a daemon that is killed.
const LIFE: Duration = Duration::from_secs(3);
const TURNS: usize = 20;

/// What a person does with a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Says it, and waits for what comes of it.
    Say,
    /// Says it, and answers the question that comes of it.
    Answer,
    /// Says it, and waits until the agent is in the middle of it. The next turn corrects it.
    Begin,
    /// Says it, waits until the agent is in the middle of it, and stops the card. The next turn goes on.
    Stop,
    /// Says it, and accepts the landing that comes of it.
    Land,
}

/// Twenty turns: five questions, three corrections (4, 10, 16), two stops and one landing.
const fn act(turn: usize) -> Act {
    match turn {
        2 | 5 | 8 | 12 | 17 => Act::Answer,
        3 | 9 | 15 => Act::Begin,
        6 | 13 => Act::Stop,
        18 => Act::Land,
        _ => Act::Say,
    }
}

/// The agent finds its task by the newest mark of its prompt, as its branches stand from the last turn to the first.
fn script(desk: &Desk) {
    let note = |turn: usize, text: &str| {
        [
            json!({"session": "the-talk"}),
            json!({"write_file": {"path": format!("notes/{turn:02}.txt"), "text": text}}),
            json!({"commit": format!("Turn {turn:02}")}),
        ]
    };
    let answers = (1..=TURNS)
        .rev()
        .filter(|turn| act(*turn) == Act::Answer)
        .map(|turn| {
            let mut steps = note(turn, "{answer}\n").to_vec();
            steps.push(json!({"final": format!("Noted {turn:02}: {{answer}}")}));
            json!({"when": "answer", "contains": format!("Question {turn:02}"), "steps": steps})
        });
    let turns = (1..=TURNS).rev().map(|turn| {
        let name = format!("{turn:02}");
        let mut steps = note(turn, &format!("{turn:02}\n")).to_vec();
        match act(turn) {
            Act::Say => steps.push(json!({"final": format!("Did {name}.")})),
            Act::Answer => steps.push(json!({"ask": {"question": format!("Question {name}?")}})),
            Act::Begin | Act::Stop => {
                steps = vec![
                    json!({"session": "the-talk"}),
                    json!({"write_file": {"path": format!("half/{name}.txt"), "text": "half\n"}}),
                ];
                steps.extend(desk.gate(&format!("at-{name}")));
            }
            Act::Land => {
                steps.push(json!({"offer_landing": {"summary": format!("Offer {name}"), "message": "Land the notes"}}));
            }
        }
        json!({"when": "any", "contains": format!("[{name}]"), "steps": steps})
    });
    desk.script(&Value::Array(answers.chain(turns).collect()));
}

/// A command that works although the daemon on which it relies may be killed meanwhile.
fn insist(desk: &Desk, args: &[&str]) {
    desk.until(&format!("`{}` is done", args.join(" ")), || {
        let output = desk.panel(args).output().expect("it runs");
        output.status.success().then_some(())
    });
}

/// Says all turns and does what a person does with each. Some daemon runs meanwhile.
fn talk(desk: &Desk) -> String {
    let mut card = String::new();
    for turn in 1..=TURNS {
        let message = format!("[{turn:02}] Please note it.");
        if card.is_empty() {
            card = desk.send(&message);
        } else {
            desk.ok(&["send", "--card", &card, &message]);
        }
        match act(turn) {
            Act::Say => until_said(desk, &card, &format!("Did {turn:02}.")),
            Act::Begin => desk.until_there(&desk.path(&format!("outside/at-{turn:02}"))),
            Act::Stop => {
                desk.until_there(&desk.path(&format!("outside/at-{turn:02}")));
                insist(desk, &["stop", &card]);
                assert_eq!(desk.card(&card)["card"]["state"], "stopped");
            }
            Act::Answer => {
                let question = format!("Question {turn:02}?");
                desk.until(&question, || {
                    let asks = desk.json(&["asks"]);
                    (asks[0]["question"] == question).then_some(())
                });
                desk.ok(&["answer", &card, &format!("so {turn:02}")]);
                until_said(desk, &card, &format!("Noted {turn:02}: so {turn:02}"));
            }
            Act::Land => {
                desk.until("the offer is there", || {
                    let asks = desk.json(&["asks"]);
                    (asks[0]["offers_landing"] == true).then_some(())
                });
                desk.ok(&["land", &card]);
                desk.until("its work has landed", || {
                    (desk.card(&card)["card"]["state"] == "landed").then_some(())
                });
            }
        }
    }
    card
}

fn until_said(desk: &Desk, card: &str, words: &str) {
    desk.until(words, || {
        let said = desk.said_by(card, "agent");
        said.iter().any(|body| body == words).then_some(())
    });
}

/// What is left of a conversation, without what depends on when things happened.
#[derive(Debug, PartialEq, Eq)]
struct Story {
    turns: Vec<(String, String, String)>,
    asks: Vec<(String, String, String)>,
    landings: Vec<String>,
    runs: usize,
    tries: u64,
    /// The files of each branch, with their contents.
    files: BTreeMap<String, String>,
    /// What was committed on each branch.
    commits: BTreeMap<String, String>,
}

fn story(desk: &Desk, card: &str) -> Story {
    let detail = desk.card(card);
    let rows = |of: &str| detail[of].as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // What the system says of a landing names a commit and a time.
    let words = |text: String| text.split(" as ").next().unwrap_or_default().to_owned();
    let turns = rows("turns");
    let turns = turns.iter().map(|turn| {
        let author = text(&turn["author"]["kind"]);
        (author, words(text(&turn["body"])), text(&turn["state"]))
    });
    let asks = rows("asks");
    let asks = asks.iter().map(|ask| {
        let answer = words(text(&ask["answer"]));
        (text(&ask["question"]), answer, text(&ask["state"]))
    });
    let branches = desk.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    // The branch of a card ends with its id.
    let name = |branch: &str| {
        if branch.starts_with("cs/") {
            "card".to_owned()
        } else {
            branch.to_owned()
        }
    };
    let of_branches = |args: &[&str]| {
        let of = |branch: &str| (name(branch), desk.git(&[args, &[branch]].concat()));
        branches.lines().map(of).collect::<BTreeMap<_, _>>()
    };
    Story {
        turns: turns.collect(),
        asks: asks.collect(),
        landings: rows("landings")
            .iter()
            .map(|landing| text(&landing["state"]))
            .collect(),
        runs: rows("runs").len(),
        tries: rows("runs")[0]["tries"].as_u64().expect("a number"),
        files: of_branches(&["ls-tree", "-r"]),
        commits: of_branches(&["log", "--format=%s"]),
    }
}

/// Plays the conversation, with daemons that live as long as this says, and tells its story once everything has come to rest.
fn play(life: impl Fn(&mut Rng) -> Option<Duration> + Sync, seed: u64) -> (Story, u32) {
    let desk = Desk::new();
    script(&desk);
    let (is_over, kills) = (AtomicBool::new(false), AtomicU32::new(0));
    let card = std::thread::scope(|scope| {
        let daemons = scope.spawn(|| {
            let mut rng = Rng::with_seed(seed);
            while !is_over.load(Ordering::Relaxed) {
                let daemon = desk.daemon();
                match life(&mut rng) {
                    Some(life) => {
                        std::thread::sleep(life);
                        daemon.kill();
                        kills.fetch_add(1, Ordering::Relaxed);
                    }
                    None => {
                        while !is_over.load(Ordering::Relaxed) {
                            std::thread::sleep(Duration::from_millis(20));
                        }
                    }
                }
            }
        });
        let over = Over(&is_over);
        let card = talk(&desk);
        drop(over);
        daemons.join().expect("it ends");
        card
    });
    let said = desk.run_once();
    assert!(said.contains("idle"), "nothing is left in the ledger: {said}");
    desk.no_process_is_left();
    assert_eq!(
        desk.git(&["status", "--porcelain"]),
        "",
        "the person's own tree is as it was"
    );
    // Invariant 14.
    let places = [
        desk.path("").display().to_string(),
        desk.state().display().to_string(),
    ];
    for (place, text) in texts(&desk.state()) {
        assert!(
            !places
                .iter()
                .any(|path| text.contains(path.trim_end_matches('/'))),
            "{place}: {text}"
        );
    }
    (story(&desk, &card), kills.into_inner())
}

/// Says that it is over, also when a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same turns, questions, landings and branches come of it, whoever dies meanwhile. Invariant 2. Invariant 9. Invariant 10.
#[test]
fn a_conversation_of_twenty_turns_is_the_same_whatever_daemon_dies() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let (calm, (stormy, kills)) = std::thread::scope(|scope| {
        let calm = scope.spawn(|| play(|_| None, seed).0);
        let most = u64::try_from(LIFE.as_millis()).expect("short");
        let stormy = play(|rng| Some(Duration::from_millis(rng.u64(50..most))), seed);
        (calm.join().expect("it is over"), stormy)
    });
    println!("{kills} daemons were killed");
    assert!(kills >= 5, "it was no storm: {kills}");
    let answered = calm
        .asks
        .iter()
        .filter(|ask| ask.0.starts_with("Question") && ask.2 == "answered");
    assert_eq!(answered.count(), 5, "{calm:?}");
    assert_eq!(
        (calm.landings.as_slice(), calm.runs, calm.tries),
        (&["landed".to_owned()][..], 1, 0)
    );
    let by = |who: &str| calm.turns.iter().filter(|turn| turn.0 == who).count();
    // Of the turns that were corrected or stopped nothing was said; an answer to a question is a turn of the agent, the question none.
    assert_eq!(
        (by("person"), by("agent")),
        (TURNS, TURNS - 3 - 2 - 1),
        "{calm:?}"
    );
    assert!(calm.turns.iter().all(|turn| turn.2 == "settled"), "{calm:?}");
    assert_eq!(calm, stormy);
}
