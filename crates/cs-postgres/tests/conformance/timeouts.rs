//! What takes too long ends, on the server too: nobody hides a card for ever, and nobody waits for ever.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cs_postgres::{Limits, PostgresStore};
use cs_record::{Lock, RecordError, RowStore, Select, SendTo, StoreError, rules};
use cs_testkit::SetClock;
use cs_testkit::laws::World;
use sqlx::{AssertSqlSafe, Executor};

use crate::acts::{new_card, take};
use crate::schema::Schema;

const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(600);

/// Opens the record with these limits.
async fn open(schema: &Arc<Schema>, limits: Limits) -> (PostgresStore, Arc<SetClock>) {
    let clock = Arc::new(SetClock::new());
    let settings = schema
        .settings()
        .with_limits(limits)
        .with_clock(Arc::clone(&clock) as _);
    (PostgresStore::open(&settings).await.expect("it opens"), clock)
}

async fn world(schema: &Arc<Schema>, limits: Limits) -> World {
    let (store, clock) = open(schema, limits).await;
    World::new(store, clock, Arc::clone(schema)).await
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// A daemon that dies or hangs between lock and commit: its session stands still, and its cards are hidden until it is ended.
#[tokio::test]
async fn a_session_that_stops_after_its_lock_does_not_hide_its_cards_for_ever() {
    let schema = Arc::new(Schema::new().await);
    let living = schema.world().await;
    let card = new_card(&living).await;
    let limits = Limits {
        idle_in_transaction: SHORT,
        ..Limits::default()
    };
    let (hanging, _) = open(&schema, limits).await;
    let Ok(Lock::Held(held)) = hanging.lock(None, &Select::Card(card)).await else {
        panic!("it locks");
    };
    assert!(take(&living, 1).await.is_empty(), "the card is hidden");
    let until = Instant::now() + Duration::from_secs(60);
    let taken = loop {
        let taken = take(&living, 1).await;
        if !taken.is_empty() {
            break taken;
        }
        assert!(Instant::now() < until, "it is hidden for ever");
        tokio::task::yield_now().await;
    };
    assert_eq!(taken.len(), 1);
    let (writes, _) = rules::stop_card(&held.facts.cards[0], &living.person, held.facts.now);
    let late = hanging.commit(held.tx, &writes).await;
    assert!(
        matches!(late, Err(StoreError::Away(_) | StoreError::Unknown(_))),
        "what it does late is nothing: {late:?}"
    );
    let detail = living.cards.card(card).await.expect("it answers");
    assert_eq!(detail.card.state, cs_model::CardState::Open);
}

/// Holds a card from outside, as an administrator's session that was forgotten would, and sends to it.
async fn send_to_a_held_card(limits: Limits) -> String {
    let schema = Arc::new(Schema::new().await);
    let world = world(&schema, limits).await;
    let card = new_card(&world).await;
    let mut holder = schema.raw().await;
    let hold = format!("begin; select 1 from cards where id = '{card}' for update");
    holder.execute(AssertSqlSafe(hold)).await.expect("it locks");
    let send = cs_record::Send {
        turn: cs_model::TurnId::from_uuid(cs_model::IdSource::uuid_v7(&*world.ids)),
        to: SendTo::Card(card),
        person: world.person.clone(),
        body: "please".to_owned(),
        plan: cs_record::Plan::default(),
        choice: cs_record::Choice::default(),
        attachments: Vec::new(),
    };
    let error = world.people.send(&send).await.expect_err("somebody holds it");
    assert!(
        matches!(error, RecordError::Away(_)),
        "it may be tried again: {error:?}"
    );
    let said = chain(&error);
    holder.execute("rollback").await.expect("it lets go");
    world.people.send(&send).await.expect("the same again is taken");
    let detail = world.cards.card(card).await.expect("it answers");
    assert_eq!(detail.card.last_seq.get(), 2, "once");
    said
}

#[tokio::test]
async fn a_lock_is_not_waited_for_for_ever() {
    let said = send_to_a_held_card(Limits {
        lock: Duration::from_millis(50),
        statement: LONG,
        ..Limits::default()
    });
    let said = said.await;
    assert!(said.contains("lost a race for the same rows"), "{said}");
}

#[tokio::test]
async fn a_statement_is_not_waited_for_for_ever() {
    let said = send_to_a_held_card(Limits {
        statement: SHORT,
        lock: LONG,
        ..Limits::default()
    });
    let said = said.await;
    assert!(said.contains("the time that a statement may take"), "{said}");
}
