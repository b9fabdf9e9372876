//! Laws of rows that do not decode. A store in memory has none: the tests of the others spoil theirs past the store.

use std::time::Duration;

use cs_fence::Fenced;
use cs_journal::Task;
use cs_model::CardId;
use cs_record::{AcceptLanding, CardFilter, RecordError, SendTo};

use super::World;

/// A statement that spoils a row of the card `CARD`, the table that the row is in, and what an error says.
type Spoiled = (&'static str, &'static str, &'static str);

/// A row of each kind that a take reads.
const SPOILED: &[Spoiled] = &[
    (
        "update cards set person = '' where id = 'CARD'",
        "cards",
        "person",
    ),
    (
        "update cards set usage_turns = -1 where id = 'CARD'",
        "cards",
        "usage_turns is -1",
    ),
    (
        "update runs set tries = -1 where card_id = 'CARD'",
        "runs",
        "tries is -1",
    ),
    (
        "update turns set seq = -1 where card_id = 'CARD' and state = 'pending'",
        "turns",
        "seq is -1",
    ),
    (
        "update asks set choices = '[1]' where card_id = 'CARD'",
        "asks",
        "expected a string",
    ),
];

/// Makes a card with a run, an open question and a turn to take.
async fn new_card(world: &World) -> CardId {
    let taken = world.running().await;
    world.ask(&taken.attempt, &world.question(&[], None)).await;
    world.clock.advance(Duration::from_secs(1));
    taken.claimed.card
}

/// Makes so many cards and then gives each a turn, so that all are ready in the order in which they were made.
async fn ready_cards(world: &World, count: usize) -> Vec<CardId> {
    let mut cards = Vec::with_capacity(count);
    for _ in 0..count {
        cards.push(new_card(world).await);
    }
    for card in &cards {
        world.send(SendTo::Card(*card), "more").await;
        world.clock.advance(Duration::from_secs(1));
    }
    cards
}

async fn check_named(world: &World, card: CardId, (_, table, why): Spoiled) {
    let error = world
        .people
        .send(&world.new_turn(SendTo::Card(card), "and"))
        .await;
    let Err(RecordError::Corrupt(told)) = &error else {
        panic!("nothing is decided on it: {error:?}");
    };
    assert!(
        told.contains(&format!(" of {table}: ")) && told.contains(why),
        "{told}"
    );
}

async fn check_lists(world: &World, bad: &[CardId], good: &[CardId]) {
    let listed = world.cards.cards(CardFilter::All).await.expect("it answers");
    let shown: Vec<CardId> = listed.rows.iter().rev().map(|summary| summary.card.id).collect();
    assert_eq!(shown, good);
    for (card, (_, table, why)) in bad.iter().zip(SPOILED) {
        let told = listed.unreadable.iter().find(|one| one.card == card.to_string());
        let told = &told.expect("it is named").why;
        assert!(
            told.contains(&format!(" of {table}: ")) && told.contains(why),
            "{told}"
        );
    }
    assert_eq!(listed.unreadable.len(), bad.len());
    let asks = world.cards.open_asks().await.expect("it answers");
    let hidden: Vec<&str> = asks.unreadable.iter().map(|one| one.card.as_str()).collect();
    assert_eq!(asks.rows.len() + hidden.len(), bad.len() + good.len());
    assert_eq!(hidden, [bad[4].to_string()], "the one whose own row is spoiled");
}

/// Cards of which a row does not decode are left out of takes, however far in front they are: the others are taken one by one,
/// the lists name what they cannot show, a peek names no work that no take can take, and a card that was mended is taken.
pub async fn rows_that_do_not_decode_stop_no_other_card(world: &World, spoil: impl AsyncFn(String)) {
    let cards = ready_cards(world, SPOILED.len() + 3).await;
    let (bad, good) = cards.split_at(SPOILED.len());
    for (card, (sql, ..)) in bad.iter().zip(SPOILED) {
        spoil(sql.replace("CARD", &card.to_string())).await;
    }
    check_lists(world, bad, good).await;
    for card in good {
        assert!(world.peek().await.turns);
        let taken = world
            .take(Task::Turns)
            .await
            .expect("it is behind those that are left out");
        assert_eq!(taken.claimed.card, *card);
    }
    assert!(world.take(Task::Turns).await.is_none());
    assert!(!world.peek().await.turns, "nothing is left that a take can take");
    for (card, spoiled) in bad.iter().zip(SPOILED) {
        check_named(world, *card, *spoiled).await;
    }
    let first = bad[0];
    spoil(format!("update cards set person = 'Ada' where id = '{first}'")).await;
    assert!(world.peek().await.turns, "it was mended");
    let taken = world.take(Task::Turns).await.expect("it was mended");
    assert_eq!(taken.claimed.card, first);
}

/// More cards than one take asks for, all in front and none of them known, are passed by one take.
pub async fn one_take_passes_many_cards_that_do_not_decode(world: &World, spoil: impl AsyncFn(String)) {
    let cards = ready_cards(world, 12).await;
    let (last, bad) = cards.split_last().expect("there are some");
    for card in bad {
        spoil(format!("update cards set person = '' where id = '{card}'")).await;
    }
    let taken = world.take(Task::Turns).await.expect("it is behind the others");
    assert_eq!(taken.claimed.card, *last);
}

/// A landing that does not decode stops the takes of nothing else. What was accepted after it for the same codebase waits for it,
/// as for any landing, and a peek does not name it.
pub async fn a_landing_that_does_not_decode_holds_its_codebase_only(
    world: &World,
    spoil: impl AsyncFn(String),
) {
    for _ in 0..2 {
        let taken = world.running().await;
        world.offer(&taken.attempt).await;
        let accept = AcceptLanding::new(world.landing_id(), taken.claimed.card, world.person.clone());
        world.people.accept_landing(&accept).await.expect("it can land");
        world.clock.advance(Duration::from_secs(1));
    }
    let listed = world.cards.cards(CardFilter::All).await.expect("it answers");
    let first = listed.rows.last().expect("two are there").card.id;
    spoil(format!(
        "update landings set accepted_by = '' where card_id = '{first}'"
    ))
    .await;
    let other = world.card().await;
    let (receipt, _) = world.claim(Task::Landings, 1).await.expect("it is left out");
    assert!(receipt.landings.is_empty(), "{receipt:?}");
    assert!(!world.peek().await.landings);
    world.running_card(other).await;
    spoil(format!(
        "update landings set accepted_by = 'Ada' where card_id = '{first}'"
    ))
    .await;
    assert!(world.peek().await.landings, "it was mended");
    let (receipt, _) = world.claim(Task::Landings, 1).await.expect("it was mended");
    assert_eq!(receipt.landings.len(), 1);
}

/// A run of the machine that does not decode hides no other whose process is to be closed; an import, which happens once, is told.
pub async fn a_run_that_does_not_decode_hides_no_other(world: &World, spoil: impl AsyncFn(String)) {
    let mut runs = Vec::new();
    for number in [1, 2] {
        let taken = world.running().await;
        let noted = world
            .attempts
            .record_process(&taken.attempt, &World::process(number))
            .await;
        assert!(matches!(noted, Ok(Fenced::Applied(_))), "{noted:?}");
        let stopped = world.people.stop_card(taken.claimed.card, &world.person).await;
        assert!(stopped.expect("it answers"));
        runs.push(taken);
    }
    let bad = runs[0].claimed.card;
    spoil(format!("update runs set tries = -1 where card_id = '{bad}'")).await;
    let stopped = world
        .daemon
        .stopped_runs(world.machine)
        .await
        .expect("it answers");
    let stopped: Vec<_> = stopped.iter().map(|run| run.run).collect();
    assert_eq!(stopped, [runs[1].attempt.run]);
    let import = world.daemon.running_runs(world.machine).await;
    assert!(matches!(import, Err(RecordError::Corrupt(_))), "{import:?}");
}
