//! The laws of the record, over the store in memory.

use std::sync::Arc;

use cs_testkit::laws::World;
use cs_testkit::laws::random::{Move, Player};
use cs_testkit::{MemoryStore, SetClock};
use proptest::prelude::*;

async fn memory() -> World {
    let clock = Arc::new(SetClock::new());
    World::new(MemoryStore::new(Arc::clone(&clock) as _), clock, ()).await
}

cs_testkit::record_conformance!(memory().await);

fn memory_store() -> (MemoryStore, Arc<SetClock>, ()) {
    let clock = Arc::new(SetClock::new());
    (MemoryStore::new(Arc::clone(&clock) as _), clock, ())
}

cs_testkit::store_conformance!(memory_store());

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever people, agents and machines do, no rule panics, no constraint is broken, and what a card is stored to be ready
    /// for is what its rows say.
    #[test]
    fn random_commands_keep_every_constraint(moves in proptest::collection::vec(any::<Move>(), 1..200)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime can be built").block_on(async {
            let mut player = Player::new(memory().await);
            for step in moves {
                let said = player.play(step).await;
                assert!(!said.contains("Corrupt"), "{said}");
                player.look().await;
            }
        });
    }
}
