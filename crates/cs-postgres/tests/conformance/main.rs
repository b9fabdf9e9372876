//! The laws of the record over a Postgres server, the server against the store in memory, and what goes wrong with servers.
//!
//! `cargo xtask test --postgres` starts a server and names it in `CS_PANEL_TEST_POSTGRES`.

mod acts;
mod breaks;
mod compare;
mod constraints;
mod events;
mod kept;
mod limits;
mod listening;
mod older;
mod own_server;
mod pooler;
mod presence;
mod race;
mod refusals;
mod restart;
mod schema;
mod servers_clock;
mod statements;
mod timeouts;
mod tls;
mod tour;
mod trips;
mod unusable;
mod values;

use std::sync::Arc;

use cs_postgres::PostgresStore;
use cs_testkit::SetClock;
use cs_testkit::laws::World;
use schema::Schema;

async fn postgres() -> World {
    Arc::new(Schema::new().await).world().await
}

use postgres as world_under_test;

cs_testkit::record_conformance!(postgres().await);

async fn postgres_store() -> (PostgresStore, Arc<SetClock>, Schema) {
    let schema = Schema::new().await;
    let (store, clock) = schema.open().await;
    (store, clock, schema)
}

cs_testkit::store_conformance!(postgres_store().await);
