//! Time on the record is the server's, whatever the machine's clock shows.

use std::sync::Arc;

use cs_journal::ClaimError;
use cs_model::{Clock, IdSource, OperationId, Time};
use cs_postgres::PostgresStore;
use cs_testkit::SetClock;
use cs_testkit::laws::World;

use crate::acts::{new_card, request};
use crate::schema::Schema;

async fn server_now(schema: &Schema) -> Time {
    let micros: i64 = sqlx::query_scalar("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
        .fetch_one(&mut schema.raw().await)
        .await
        .expect("it answers");
    Time::from_unix_micros(micros)
}

/// This machine believes that it is the first of January 2026: it can send, and takes nothing before its clock is right.
#[tokio::test]
async fn a_machine_with_a_wrong_clock_writes_the_servers_time_and_takes_nothing() {
    let schema = Arc::new(Schema::new().await);
    let store = PostgresStore::open(&schema.settings()).await.expect("it opens");
    let machine_clock = Arc::new(SetClock::new());
    let world = World::new(store, Arc::clone(&machine_clock), Arc::clone(&schema)).await;
    let before = server_now(&schema).await;
    let card = new_card(&world).await;
    let after = server_now(&schema).await;
    let created = world.cards.card(card).await.expect("it is there").card.created_at;
    assert!(
        before <= created && created <= after,
        "{before} {created} {after}"
    );

    let operation = OperationId::from_uuid(world.ids.uuid_v7());
    let refused = world
        .claims
        .claim(world.machine, operation, &request(&world, 1))
        .await;
    let Err(ClaimError::ClockApart { made_at, now, .. }) = refused else {
        panic!("its clock is months apart: {refused:?}");
    };
    assert_eq!(made_at, machine_clock.now());
    assert!(after <= now, "{after} {now}");

    machine_clock.set(now);
    let operation = OperationId::from_uuid(world.ids.uuid_v7());
    let taken = world
        .claims
        .claim(world.machine, operation, &request(&world, 1))
        .await;
    assert_eq!(taken.expect("its clock is right").runs[0].card, card);
}
