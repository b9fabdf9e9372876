//! Opens the file, and refuses what is not a record of ours.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cs_model::Clock;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqlitePool};
use tokio::sync::Mutex;

use crate::SqliteStore;
use crate::error::{CORRUPT, NOT_A_DATABASE, primary_code};
use crate::migrate::{MIGRATIONS, Migration, migrate};

/// How long another process that writes is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a call waits for its turn with the writing connection.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);
const READERS: u32 = 4;

/// Why the record cannot be opened. Nothing was changed, but for an empty file that may have been made.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file, or its directory, cannot be made or opened.
    #[error("the database file {} cannot be opened", path.display())]
    Unreachable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file can be opened and not written, or its file system cannot hold a database.
    #[error("the database file {} cannot be used", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// The file system under the file has no shared memory or no locks, as some network file systems.
    #[error(
        "the file system under {} cannot hold the database: it does not support write-ahead logging, give a path on a local disk",
        path.display()
    )]
    FileSystem {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a database of cs-panel: give another path, or move that file away", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// A newer cs-panel has written the file.
    #[error(
        "the database {} has version {found}, this cs-panel knows up to {known}: use a newer cs-panel",
        path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this binary knows.
        known: u32,
    },
    /// An older file could not be copied before its migration, or not migrated.
    #[error("the database {} cannot be brought to version {to}", path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// The version that failed.
        to: u32,
        /// Why.
        source: sqlx::Error,
    },
}

impl OpenError {
    /// Tells a file that is no database from one that cannot be used.
    pub(crate) fn of(path: &Path, source: sqlx::Error) -> Self {
        let path = path.to_owned();
        match primary_code(&source) {
            Some(CORRUPT | NOT_A_DATABASE) => Self::NotOurs { path },
            Some(_) | None => Self::Unusable { path, source },
        }
    }
}

pub(crate) async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<SqliteStore, OpenError> {
    open_with(path, clock, MIGRATIONS).await
}

/// Opens with a given list of migrations, so that tests can have older and newer binaries.
pub(crate) async fn open_with(
    path: &Path,
    clock: Arc<dyn Clock>,
    migrations: &[Migration],
) -> Result<SqliteStore, OpenError> {
    create_private(path, false)?;
    let failed = |source| OpenError::of(path, source);
    let plain = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        .disable_statement_logging();
    migrate(path, &plain, migrations).await?;
    let options = plain
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let writer = pool(1).connect_with(options.clone()).await.map_err(failed)?;
    let mode: String = sqlx::query_scalar("pragma journal_mode")
        .fetch_one(&writer)
        .await
        .map_err(failed)?;
    if mode != "wal" {
        return Err(OpenError::FileSystem {
            path: path.to_owned(),
        });
    }
    let reading = options.clone().pragma("query_only", "on");
    let readers: SqlitePool = pool(READERS)
        .connect_with(reading.clone())
        .await
        .map_err(failed)?;
    let watch = reading.connect().await.map_err(failed)?;
    Ok(SqliteStore {
        writer,
        readers,
        watch: Mutex::new(watch),
        clock,
    })
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(TURN_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// Makes a file for its owner only, when it is not there: SQLite gives its companions the same mode. `empty` empties one that is.
pub(crate) fn create_private(path: &Path, empty: bool) -> Result<(), OpenError> {
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(empty)
        .mode(0o600)
        .open(path);
    opened.map(drop).map_err(|source| OpenError::Unreachable {
        path: path.to_owned(),
        source,
    })
}
