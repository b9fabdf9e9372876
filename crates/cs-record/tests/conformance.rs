//! The laws of the record, over the store in memory.

use std::sync::Arc;

use cs_testkit::laws::World;
use cs_testkit::{MemoryStore, SetClock};

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
