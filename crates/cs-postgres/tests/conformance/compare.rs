//! Random commands do the same on Postgres as in memory.

use std::sync::Arc;

use cs_testkit::laws::World;
use cs_testkit::laws::random::{Move, Player};
use cs_testkit::{MemoryStore, SetClock};
use proptest::prelude::*;

use crate::postgres;

async fn memory() -> World {
    let clock = Arc::new(SetClock::new());
    World::new(MemoryStore::new(Arc::clone(&clock) as _), clock, ()).await
}

async fn play_both(moves: Vec<Move>) -> Result<(), TestCaseError> {
    let (mut memory, mut postgres) = (Player::new(memory().await), Player::new(postgres().await));
    for (number, step) in moves.into_iter().enumerate() {
        prop_assert_eq!(memory.play(step).await, postgres.play(step).await);
        if number % 16 == 0 {
            prop_assert_eq!(memory.look().await, postgres.look().await);
        }
    }
    prop_assert_eq!(memory.look().await, postgres.look().await);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn postgres_does_what_memory_does(moves in proptest::collection::vec(any::<Move>(), 1..160)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime can be built").block_on(play_both(moves))?;
    }
}
