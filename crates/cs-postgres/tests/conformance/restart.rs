//! A server that crashes and comes back.

use std::sync::Arc;

use cs_postgres::{Heard, PostgresStore, Settings, Silence, migrate};
use cs_record::{RowStore, StoreError};
use cs_testkit::SetClock;
use cs_testkit::laws::World;
use tokio::task::JoinSet;

use crate::acts::{answer, new_card, take};
use crate::listening::Ear;
use crate::own_server::OwnServer;
use crate::schema::server;

/// A server with a record.
async fn migrated() -> OwnServer {
    let server = OwnServer::new(&server(), "host all cs_panel 127.0.0.1/32 trust\n");
    server.start();
    migrate(&settings(&server.url())).await.expect("it migrates");
    server
}

fn settings(url: &str) -> Settings {
    url.parse().expect("the URL is good")
}

/// What was committed is there, what was under way is nobody's, and the listener asks for a look at everything.
#[tokio::test]
async fn a_crashed_server_that_comes_back_is_used_and_heard_again() {
    let server = migrated().await;
    let clock = Arc::new(SetClock::new());
    let settings = settings(&server.tcp_url()).with_clock(Arc::clone(&clock) as _);
    let store = PostgresStore::open(&settings).await.expect("it opens");
    let world = Arc::new(World::new(store, clock, ()).await);
    let mut ear = Ear::on(settings);
    assert!(matches!(ear.next().await, Heard::Live));
    let card = new_card(&world).await;
    assert!(matches!(ear.next().await, Heard::Changed));
    let attempt = take(&world, 1).await.remove(0);

    server.crash();
    let lost = ear.next().await;
    assert!(matches!(lost, Heard::Silent(Silence::Lost(_))), "{lost:?}");
    let mut asking = JoinSet::new();
    let asker = Arc::clone(&world);
    asking.spawn(async move { answer(&asker, &attempt).await });
    server.start();
    asking.join_all().await;
    loop {
        match ear.next().await {
            Heard::Live => break,
            Heard::Silent(_) => {} // it was too early
            Heard::Changed => panic!("a listener that is not live has heard something"),
        }
    }
    let detail = world.cards.card(card).await.expect("it answers");
    assert_eq!(detail.card.last_seq.get(), 2, "the turn and its answer");
    new_card(&world).await;
    assert!(matches!(ear.next().await, Heard::Changed));
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_with_the_cure() {
    let server = migrated().await;
    let store = PostgresStore::open(&settings(&server.url()))
        .await
        .expect("it opens");
    server.crash();
    let Err(StoreError::Away(why)) = store.codebases().await else {
        panic!("nobody is there");
    };
    assert!(why.to_string().contains("is it running?"), "{why}");

    server.start();
    assert!(store.codebases().await.expect("it is back").is_empty());
}
