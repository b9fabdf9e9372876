//! A schema of its own for each test, dropped with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cs_postgres::{PostgresStore, Settings, migrate};
use cs_testkit::SetClock;
use cs_testkit::laws::World;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Returns the URL of the server under test.
#[expect(
    clippy::disallowed_methods,
    reason = "the server is given by the one who runs the tests"
)]
pub(crate) fn server() -> String {
    std::env::var("CS_PANEL_TEST_POSTGRES")
        .expect("these tests need a server: run them with `cargo xtask test --postgres`")
}

/// Returns how many random sequences are played: `PROPTEST_CASES`, or this number for an ordinary run.
#[expect(
    clippy::disallowed_methods,
    reason = "the one who runs the tests says how long"
)]
pub(crate) fn cases(ordinary: u32) -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.map_or(ordinary, |cases| {
        cases.parse().expect("PROPTEST_CASES is a whole number")
    })
}

/// An empty schema. The guard drops it.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: String,
}

impl Schema {
    /// Makes a schema without anything in it.
    pub(crate) async fn empty() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        let mut connection = PgConnection::connect(&server())
            .await
            .expect("the server answers");
        let make = format!("drop schema if exists {name} cascade; create schema {name}");
        connection
            .execute(AssertSqlSafe(make))
            .await
            .expect("a schema can be made");
        Self { name }
    }

    /// Makes a schema with a record.
    pub(crate) async fn new() -> Self {
        let schema = Self::empty().await;
        migrate(&schema.settings())
            .await
            .expect("an empty schema can be migrated");
        schema
    }

    /// Removes every row of the record. A new schema takes longer, and emptied tables (`truncate`) make the server plan every
    /// statement anew.
    pub(crate) async fn clear(&self, raw: &mut PgConnection) {
        let name = &self.name;
        let clear = format!(
            "set session_replication_role = replica;
             do $$ declare gone text; begin
                 for gone in select tablename from pg_tables
                     where schemaname = '{name}' and tablename <> 'cs_panel_version'
                 loop execute format('delete from %I', gone); end loop;
             end $$"
        );
        let done = raw.execute(AssertSqlSafe(clear)).await;
        done.expect("the tables can be emptied");
    }

    pub(crate) fn url(&self) -> String {
        let (server, name) = (server(), &self.name);
        format!("{server}&application_name={name}&options=-c%20search_path%3D{name}")
    }

    pub(crate) fn settings(&self) -> Settings {
        self.url().parse().expect("the URL is good")
    }

    /// Opens the record with a clock of the test.
    pub(crate) async fn open(&self) -> (PostgresStore, Arc<SetClock>) {
        let clock = Arc::new(SetClock::new());
        let settings = self.settings().with_clock(Arc::clone(&clock) as _);
        (PostgresStore::open(&settings).await.expect("it opens"), clock)
    }

    /// Makes a world over the record.
    pub(crate) async fn world(self: &Arc<Self>) -> World {
        let (store, clock) = self.open().await;
        World::new(store, clock, Arc::clone(self)).await
    }

    /// Connects past the store.
    pub(crate) async fn raw(&self) -> PgConnection {
        PgConnection::connect(&self.url())
            .await
            .expect("the server answers")
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (name, url) = (self.name.clone(), server());
        // A thread of its own, since a test's runtime cannot be waited for from within.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be built").block_on(async {
                let mut connection = PgConnection::connect(&url).await?;
                connection
                    .execute(AssertSqlSafe(format!("drop schema {name} cascade")))
                    .await
            })
        });
        if !std::thread::panicking() {
            dropped
                .join()
                .expect("the thread ends")
                .expect("the schema can be dropped");
        }
    }
}
