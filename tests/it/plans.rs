//! When work starts, as people say it on the command line.

use serde_json::json;

use crate::desk::Desk;

/// A desk whose agent answers everything.
fn answering() -> Desk {
    let desk = Desk::new();
    desk.script(&json!([{"when": "any", "steps": [{"final": "Done."}]}]));
    desk
}

fn new_card(desk: &Desk, args: &[&str]) -> String {
    let sent = desk.json(&[&["send"], args].concat());
    sent["card"].as_str().expect("an id").to_owned()
}

fn answers(desk: &Desk, card: &str) -> usize {
    desk.said_by(card, "agent").len()
}

/// What the list says of a card, as words.
fn listed(desk: &Desk, card: &str) -> String {
    let short = &card[card.len() - 8..];
    let list = desk.ok(&["cards"]);
    let row = list.lines().find(|line| line.contains(short)).map(str::to_owned);
    row.unwrap_or_else(|| panic!("{short} is not in {list}"))
}

#[test]
fn a_card_starts_when_the_one_before_it_is_done() {
    let desk = answering();
    let first = new_card(&desk, &["Dig"]);
    let second = new_card(&desk, &["--after", &first, "Fill"]);
    desk.run_once();
    assert_eq!((answers(&desk, &first), answers(&desk, &second)), (1, 0));
    assert!(
        listed(&desk, &second).contains("waits for card"),
        "{}",
        listed(&desk, &second)
    );
    let said = desk.fails(2, &["send", "--card", &first, "--after", &second, "Both ways"]);
    assert!(said.contains("wait for each other"), "{said}");
    desk.ok(&["close", &first]);
    desk.run_once();
    assert_eq!(answers(&desk, &second), 1);
    desk.ok(&["close", &first]);
    let said = desk.fails(3, &["send", "--card", &first, "Once more"]);
    assert!(said.contains("is closed"), "{said}");
    desk.no_process_is_left();
}

#[test]
fn a_card_starts_at_its_time_or_when_a_person_wants_it_now() {
    let desk = answering();
    let later = new_card(&desk, &["--in", "2h", "Later"]);
    let past = new_card(&desk, &["--at", "2020-02-29T09:00:00+01:00", "Long due"]);
    desk.run_once();
    assert_eq!((answers(&desk, &later), answers(&desk, &past)), (0, 1));
    assert!(
        listed(&desk, &later).contains("starts in"),
        "{}",
        listed(&desk, &later)
    );
    desk.ok(&["retry", &later]);
    desk.run_once();
    assert_eq!(answers(&desk, &later), 1);
    let said = desk.fails(3, &["retry", &later]);
    assert!(said.contains("no message of it waits"), "{said}");
    for (flag, value) in [("--at", "tomorrow"), ("--in", "soon"), ("--priority", "101")] {
        let said = desk.fails(2, &["send", flag, value, "Never"]);
        assert!(said.contains(value), "{said}");
    }
}

#[test]
fn the_higher_priority_goes_first() {
    let desk = Desk::new();
    let order = desk.path("outside/order");
    let note = format!("echo $CS_PANEL_CARD >> {}", order.display());
    desk.script(&json!([{"when": "any", "steps": [{"run": ["sh", "-c", note]}, {"final": "Done."}]}]));
    desk.ok(&["limit", "--machine", "1"]);
    let cards = [
        new_card(&desk, &["--priority", "-1", "Third"]),
        new_card(&desk, &["Second"]),
        new_card(&desk, &["--priority", "9", "First"]),
    ];
    desk.run_once();
    let said = std::fs::read_to_string(&order).expect("they ran");
    let order: Vec<_> = said.lines().collect();
    let short = |card: &String| card[card.len() - 8..].to_owned();
    assert_eq!(order, [short(&cards[2]), short(&cards[1]), short(&cards[0])]);
}

#[test]
fn a_limit_a_drain_and_a_pause_of_a_codebase_start_nothing() {
    let desk = answering();
    let card = new_card(&desk, &["Work"]);
    let closing = [
        (
            vec!["limit", "--codebase", "repo", "0"],
            vec!["limit", "--codebase", "repo", "none"],
        ),
        (vec!["pause", "--drain"], vec!["resume"]),
        (
            vec!["pause", "--codebase", "repo"],
            vec!["resume", "--codebase", "repo"],
        ),
    ];
    for (close, open) in closing {
        desk.ok(&close);
        let said = desk.fails(3, &["run", "--once"]);
        assert!(said.contains("no new work may start for 1 card: "), "{said}");
        let why = said.rsplit(": ").next().expect("it says why").trim().to_owned();
        assert!(
            listed(&desk, &card).contains(&why),
            "{why}: {}",
            listed(&desk, &card)
        );
        assert_eq!(answers(&desk, &card), 0, "{close:?}");
        desk.ok(&open);
    }
    desk.run_once();
    assert_eq!(answers(&desk, &card), 1);
    desk.ok(&["pause", "--drain"]);
    desk.ok(&["send", "--card", &card, "More"]);
    desk.run_once();
    assert_eq!(answers(&desk, &card), 2, "what was begun goes on");
    desk.ok(&["resume"]);
    assert!(desk.fails(2, &["limit", "5"]).contains("--machine"));
    assert!(
        desk.fails(1, &["limit", "--codebase", "nowhere"])
            .contains("nowhere")
    );
    assert!(
        desk.fails(1, &["pause", "--codebase", "nowhere"])
            .contains("nowhere")
    );
}

#[test]
fn a_card_goes_on_with_another_agent() {
    let desk = answering();
    let card = new_card(&desk, &["Work"]);
    desk.run_once();
    desk.ok(&["agent", "add", "other", "--", "cat"]);
    let said = desk.fails(2, &["hand-back", &card, "--agent", "nobody"]);
    assert!(said.contains("nobody"), "{said}");
    desk.ok(&["hand-back", &card, "--agent", "other"]);
    desk.ok(&["send", "--card", &card, "Go on"]);
    desk.run_once();
    let said = desk.said_by(&card, "agent");
    assert!(said[1].contains("Go on"), "cat says what it was told: {said:?}");
    let refused = desk.fails(3, &["hand-back", &card, "--any-machine"]);
    assert!(refused.contains("has a tree on its machine"), "{refused}");
}

#[test]
fn nothing_that_is_needed_is_forgotten() {
    let desk = answering();
    new_card(&desk, &["Work"]);
    desk.run_once();
    let gone = desk.json(&["gc", "--dry-run"]);
    let nothing = json!({"dry_run": true, "operations": [], "leftovers": [], "kept": []});
    assert_eq!(gone, nothing);
    assert!(desk.ok(&["gc"]).contains("0 journal rows"));
    assert!(
        desk.ok(&["agent", "unpark", "scripted"])
            .contains("was not parked")
    );
    assert!(!desk.ok(&["agent", "list"]).contains("parked"));
}

#[test]
fn a_card_whose_agent_is_gone_says_so() {
    let desk = answering();
    let card = new_card(&desk, &["Work"]);
    desk.forget_agents();
    let ended = desk.panel(&["run", "--once"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    assert!(
        said.contains("agent scripted, which is not configured here"),
        "{said}"
    );
    assert!(listed(&desk, &card).contains("is not configured here"));
}
