//! Random commands do the same on SQLite as in memory.

use std::sync::Arc;

use cs_testkit::laws::World;
use cs_testkit::laws::random::{Move, Player};
use cs_testkit::{MemoryStore, SetClock};
use proptest::prelude::*;

use crate::sqlite;

async fn memory() -> World {
    let clock = Arc::new(SetClock::new());
    World::new(MemoryStore::new(Arc::clone(&clock) as _), clock, ()).await
}

async fn play_both(moves: Vec<Move>) -> Result<(), TestCaseError> {
    let (mut memory, mut sqlite) = (Player::new(memory().await), Player::new(sqlite().await));
    for (number, step) in moves.into_iter().enumerate() {
        prop_assert_eq!(memory.play(step).await, sqlite.play(step).await);
        if number % 16 == 0 {
            prop_assert_eq!(memory.look().await, sqlite.look().await);
        }
    }
    prop_assert_eq!(memory.look().await, sqlite.look().await);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_does_what_memory_does(moves in proptest::collection::vec(any::<Move>(), 1..160)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime can be built").block_on(play_both(moves))?;
    }
}
