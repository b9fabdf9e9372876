//! The laws of the record over a SQLite file, the file against the store in memory, and what a file must be to be opened.

mod compare;
mod constraints;
mod file;
mod home;
mod opening;
mod unusable;
#[path = "../../../cs-postgres/tests/conformance/values.rs"]
mod values;

use std::sync::Arc;

use cs_sqlite::SqliteStore;
use cs_testkit::SetClock;
use cs_testkit::laws::World;
use home::Home;

async fn sqlite() -> World {
    let home = Home::new();
    let store = home.open().await.expect("it opens");
    World::new(store, home.clock(), home).await
}

use sqlite as world_under_test;

cs_testkit::record_conformance!(sqlite().await);

async fn sqlite_store() -> (SqliteStore, Arc<SetClock>, Home) {
    let home = Home::new();
    (home.open().await.expect("it opens"), home.clock(), home)
}

cs_testkit::store_conformance!(sqlite_store().await);
