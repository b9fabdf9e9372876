//! A file of its own for each test, in memory where the system has such a place: deleting files on a disk is slow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_sqlite::{OpenError, SqliteStore};
use cs_testkit::SetClock;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use tempfile::TempDir;

/// A directory that goes with the test.
#[derive(Debug)]
pub(crate) struct Home {
    directory: TempDir,
    clock: Arc<SetClock>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let shared = Path::new("/dev/shm");
        let directory = if shared.is_dir() {
            TempDir::new_in(shared)
        } else {
            TempDir::new()
        };
        Self {
            directory: directory.expect("a temporary directory can be made"),
            clock: Arc::new(SetClock::new()),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn clock(&self) -> Arc<SetClock> {
        Arc::clone(&self.clock)
    }

    pub(crate) async fn open(&self) -> Result<SqliteStore, OpenError> {
        self.open_at(&self.path("record.db")).await
    }

    /// Opens the file past the store.
    pub(crate) async fn raw(&self, foreign_keys: bool) -> SqliteConnection {
        let options = SqliteConnectOptions::new()
            .filename(self.path("record.db"))
            .foreign_keys(foreign_keys);
        options.connect().await.expect("it opens")
    }

    /// Empties all tables of the record.
    pub(crate) async fn empty(&self) {
        let mut raw = self.raw(false).await;
        let tables: Vec<String> = sqlx::query_scalar("select name from sqlite_schema where type = 'table'")
            .fetch_all(&mut raw)
            .await
            .expect("it has tables");
        let deletes: Vec<String> = tables
            .iter()
            .map(|table| format!("delete from {table};"))
            .collect();
        let sql = format!("begin immediate; {} commit", deletes.concat());
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut raw)
            .await
            .expect("it can be emptied");
    }

    pub(crate) async fn open_at(&self, path: &Path) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(path, self.clock()).await
    }
}
