//! What breaks under a write is told as what it is: away, unknown, or nothing at all.

use std::sync::Arc;

use cs_journal::{Action, ClaimError, Reconciled};
use cs_model::{IdSource, OperationId, RunId};
use cs_record::{Lock, RowStore, Select, StoreError, Writes, rules};
use sqlx::{AssertSqlSafe, Executor};
use tokio::task::JoinSet;

use crate::acts::{new_card, request, take};
use crate::pooler::Pooler;
use crate::schema::Schema;

/// Ends every session of this schema's store.
async fn end_sessions(schema: &Schema) {
    let end = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = '{}' and pid <> pg_backend_pid()",
        schema.name
    );
    schema
        .raw()
        .await
        .execute(AssertSqlSafe(end))
        .await
        .expect("they are ended");
}

#[tokio::test]
async fn a_connection_that_dies_before_the_commit_leaves_nothing() {
    let schema = Arc::new(Schema::new().await);
    let world = schema.world().await;
    let card = new_card(&world).await;
    let (store, _) = schema.open().await;
    let held = store.lock(None, &Select::Card(card)).await.expect("it locks");
    let Lock::Held(held) = held else {
        panic!("there is no operation");
    };
    let (writes, _) = rules::stop_card(&held.facts.cards[0], &world.person, held.facts.now);
    assert_ne!(writes, Writes::default());
    end_sessions(&schema).await;
    let lost = store.commit(held.tx, &writes).await;
    assert!(matches!(lost, Err(StoreError::Away(_))), "{lost:?}");
    let detail = store
        .card(card)
        .await
        .expect("another connection is made")
        .expect("it is there");
    assert_eq!(detail.card.state, cs_model::CardState::Open);
}

#[tokio::test]
async fn dead_connections_of_the_pool_cost_nobody_an_error() {
    let schema = Arc::new(Schema::new().await);
    let world = Arc::new(schema.world().await);
    for _ in 0..3 {
        let mut busy = JoinSet::new();
        for _ in 0..8 {
            let world = Arc::clone(&world);
            busy.spawn(async move { new_card(&world).await });
        }
        busy.join_all().await;
        end_sessions(&schema).await;
    }
    assert_eq!(take(&world, 99).await.len(), 24);
}

#[tokio::test]
async fn a_commit_without_an_answer_is_unknown() {
    let schema = Arc::new(Schema::new().await);
    let pooler = Pooler::start(&schema).await;
    let world = pooler.world().await;
    let card = new_card(&world).await;
    let (store, _) = pooler.open().await;
    let held = store.lock(None, &Select::Card(card)).await.expect("it locks");
    let Lock::Held(held) = held else {
        panic!("there is no operation");
    };
    let (writes, _) = rules::stop_card(&held.facts.cards[0], &world.person, held.facts.now);
    pooler.lose_commits(true);
    let unknown = store.commit(held.tx, &writes).await;
    assert!(matches!(unknown, Err(StoreError::Unknown(_))), "{unknown:?}");
    pooler.lose_commits(false);
    let detail = store.card(card).await.expect("it answers").expect("it is there");
    assert_eq!(
        detail.card.state,
        cs_model::CardState::Stopped,
        "this time it was carried out"
    );
}

/// The daemon cannot know whether its claim came about, and asks: it did, and it gets what it had taken.
#[tokio::test]
async fn a_claim_whose_commit_got_no_answer_is_found_by_its_operation() {
    let schema = Arc::new(Schema::new().await);
    let pooler = Pooler::start(&schema).await;
    let world = pooler.world().await;
    let card = new_card(&world).await;
    let (operation, request) = (OperationId::from_uuid(world.ids.uuid_v7()), request(&world, 1));
    pooler.lose_commits(true);
    let lost = world.claims.claim(world.machine, operation, &request).await;
    assert!(matches!(lost, Err(ClaimError::Away(_))), "{lost:?}");
    pooler.lose_commits(false);
    let found = world
        .claims
        .reconcile(world.machine, operation)
        .await
        .expect("it answers");
    let Reconciled::Completed { action, receipt } = found else {
        panic!("it was committed: {found:?}");
    };
    assert_eq!((action, receipt.runs[0].card), (Action::TakeTurns, card));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_of_the_same_cards_in_any_order_never_deadlock() {
    let schema = Arc::new(Schema::new().await);
    let world = schema.world().await;
    for _ in 0..8 {
        new_card(&world).await;
    }
    let runs: Vec<RunId> = take(&world, 8).await.iter().map(|attempt| attempt.run).collect();
    let (store, _) = schema.open().await;
    let store = Arc::new(store);
    let mut busy = JoinSet::new();
    for racer in 0..8 {
        let (store, mut order) = (Arc::clone(&store), runs.clone());
        order.rotate_left(racer);
        if racer % 2 == 0 {
            order.reverse();
        }
        busy.spawn(async move {
            for _ in 0..25 {
                // A deadlock would be a lost race here, since nothing tries again.
                match store.lock(None, &Select::Runs(order.clone())).await {
                    Ok(Lock::Held(held)) => {
                        assert_eq!(held.facts.cards.len(), 8);
                        store.rollback(held.tx).await.expect("it rolls back");
                    }
                    other => panic!("{other:?}"),
                }
            }
        });
    }
    busy.join_all().await;
}
