//! Random commands do the same on SQLite as in memory.

use std::sync::Arc;

use cs_model::Clock;
use cs_sqlite::SqliteStore;
use cs_testkit::laws::World;
use cs_testkit::laws::random::{Move, Player};
use cs_testkit::{MemoryStore, SetClock};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::home::Home;

async fn memory() -> World {
    let clock = Arc::new(SetClock::new());
    World::new(MemoryStore::new(Arc::clone(&clock) as _), clock, ()).await
}

/// One file for all sequences: to make one takes longer than to play on it.
struct Table {
    home: Home,
    store: SqliteStore,
}

impl Table {
    async fn new() -> Self {
        let home = Home::new();
        let store = home.open().await.expect("it opens");
        Self { home, store }
    }

    /// Returns a world over the emptied file, at the time at which every world begins.
    async fn world(&self) -> World {
        self.home.empty().await;
        let clock = self.home.clock();
        clock.set(SetClock::new().now());
        World::new(self.store.clone(), clock, ()).await
    }
}

async fn play_both(table: &Table, moves: Vec<Move>) -> Result<(), TestCaseError> {
    let (mut memory, mut sqlite) = (Player::new(memory().await), Player::new(table.world().await));
    for (number, step) in moves.into_iter().enumerate() {
        prop_assert_eq!(memory.play(step).await, sqlite.play(step).await);
        if number % 16 == 0 {
            prop_assert_eq!(memory.look().await, sqlite.look().await);
        }
    }
    prop_assert_eq!(memory.look().await, sqlite.look().await);
    Ok(())
}

/// Returns how many sequences are played: `PROPTEST_CASES`, or a few for an ordinary run.
#[expect(
    clippy::disallowed_methods,
    reason = "the one who runs the tests says how long"
)]
fn cases() -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.map_or(16, |cases| {
        cases.parse().expect("PROPTEST_CASES is a whole number")
    })
}

/// `PROPTEST_CASES=10000 cargo test -p cs-sqlite --test conformance sqlite_does` plays as many sequences, ten in a second.
#[test]
fn sqlite_does_what_memory_does() {
    let config = ProptestConfig {
        cases: cases(),
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
