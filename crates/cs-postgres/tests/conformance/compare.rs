//! Random commands do the same on Postgres as in memory.

use std::sync::Arc;

use cs_model::Clock;
use cs_postgres::PostgresStore;
use cs_testkit::laws::World;
use cs_testkit::laws::random::{Move, Player};
use cs_testkit::{MemoryStore, SetClock};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sqlx::PgConnection;
use tokio::sync::Mutex;

use crate::schema::{Schema, cases};

async fn memory() -> World {
    let clock = Arc::new(SetClock::new());
    World::new(MemoryStore::new(Arc::clone(&clock) as _), clock, ()).await
}

/// One schema for all sequences: to make one takes longer than to play on it.
struct Table {
    store: PostgresStore,
    clock: Arc<SetClock>,
    raw: Mutex<PgConnection>,
    schema: Schema,
}

impl Table {
    async fn new() -> Self {
        let schema = Schema::new().await;
        let (store, clock) = schema.open().await;
        let raw = Mutex::new(schema.raw().await);
        Self {
            store,
            clock,
            raw,
            schema,
        }
    }

    /// Returns a world over the emptied schema, at the time at which every world begins.
    async fn world(&self) -> World {
        self.schema.clear(&mut *self.raw.lock().await).await;
        self.clock.set(SetClock::new().now());
        World::new(self.store.clone(), Arc::clone(&self.clock), ()).await
    }
}

async fn play_both(table: &Table, moves: Vec<Move>) -> Result<(), TestCaseError> {
    let (mut memory, mut postgres) = (Player::new(memory().await), Player::new(table.world().await));
    for (number, step) in moves.into_iter().enumerate() {
        prop_assert_eq!(memory.play(step).await, postgres.play(step).await);
        if number % 16 == 0 {
            prop_assert_eq!(memory.look().await, postgres.look().await);
        }
    }
    prop_assert_eq!(memory.look().await, postgres.look().await);
    Ok(())
}

/// `PROPTEST_CASES=10000` plays as many sequences.
#[test]
fn postgres_does_what_memory_does() {
    let config = ProptestConfig {
        cases: cases(16),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be built");
    let table = runtime.block_on(Table::new());
    let moves = proptest::collection::vec(any::<Move>(), 1..160);
    let played = TestRunner::new(config).run(&moves, |moves| runtime.block_on(play_both(&table, moves)));
    if let Err(difference) = played {
        panic!("{difference}");
    }
}
