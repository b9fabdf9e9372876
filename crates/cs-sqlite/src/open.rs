//! Opens the file, and refuses what is not a record of ours.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cs_model::Clock;
use rustix::fs::{Access, AtFlags, CWD};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use tokio::time::{Instant, sleep};

use crate::SqliteStore;
use crate::connections::{Connections, FileId, Link, schema_version};
use crate::error::{BUSY, CORRUPT, DATABASE_FULL, FILE_NOT_OPENED, NOT_A_DATABASE, READ_ONLY, primary_code};
use crate::migrate::{MIGRATIONS, Migration, migrate};

/// How long another process that writes is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a call waits for its turn with the writing connection.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);
/// After how long the mode of a file that others are opening is asked for again: SQLite does not wait for them by itself.
const MODE_PAUSE: Duration = Duration::from_millis(20);
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
    /// This user may not write the file, or not make files beside it.
    #[error(
        "the database file {} cannot be written: give this user the right to write the file and its directory, where SQLite \
         makes files of its own, or give another path",
        path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// There is no room for the file.
    #[error("the disk has no room for the database file {}: free some, or give another path", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another program holds the lock of the file.
    #[error(
        "another program has held the lock of the database file {} for longer than is waited for it: end that program, or try again when it is done",
        path.display()
    )]
    Held {
        /// The file.
        path: PathBuf,
    },
    /// The file can be opened and does not work as a database.
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
    /// An older file could not be copied before its migration. It is as it was.
    #[error("the database {} is older than this cs-panel and could not be copied before its migration: see that there is room beside it", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// An older file could not be migrated. It is as it was.
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
    /// Says what an error of the database means for its file.
    pub(crate) fn of(path: &Path, source: sqlx::Error) -> Self {
        let path = path.to_owned();
        match primary_code(&source) {
            Some(CORRUPT | NOT_A_DATABASE) => Self::NotOurs { path },
            Some(READ_ONLY | FILE_NOT_OPENED) => Self::ReadOnly { path },
            Some(DATABASE_FULL) => Self::Full { path },
            Some(BUSY) => Self::Held { path },
            Some(_) | None => Self::Unusable { path, source },
        }
    }

    /// Says what an error of the system means for a file that was to be made or found.
    pub(crate) fn of_system(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        let is = |kinds: [io::ErrorKind; 2]| kinds.contains(&source.kind());
        if is([io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem]) {
            return Self::ReadOnly { path };
        }
        if is([io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded]) {
            return Self::Full { path };
        }
        Self::Unreachable { path, source }
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
    make_private(path)?;
    Ok(SqliteStore {
        link: Arc::new(Link::open(path, migrations.into()).await?),
        clock,
        left_out: Arc::default(),
    })
}

/// Opens the connections to a file that is there, and brings an older one to this version.
pub(crate) async fn connect(path: &Path, migrations: &[Migration]) -> Result<Connections, OpenError> {
    let failed = |source| OpenError::of(path, source);
    let options = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging();
    let file = FileId::of(path).map_err(|error| OpenError::of_system(path, error))?;
    migrate(path, &options, migrations).await?;
    if write_ahead(&options).await.map_err(failed)? != "wal" {
        return Err(OpenError::FileSystem {
            path: path.to_owned(),
        });
    }
    let writer = pool(1).connect_with(options.clone()).await.map_err(failed)?;
    let reading = options.clone().pragma("query_only", "on");
    let readers = pool(READERS)
        .connect_with(reading.clone())
        .await
        .map_err(failed)?;
    let mut watch = reading.connect().await.map_err(failed)?;
    let schema = schema_version(&mut watch).await.map_err(failed)?;
    Ok(Connections::new(file, schema, writer, readers, watch))
}

/// Turns on write-ahead logging, which stays on for whoever opens the file later, and returns the mode that the file is in.
/// Whoever uses the file in the meantime is waited for: SQLite itself gives up at once.
async fn write_ahead(options: &SqliteConnectOptions) -> Result<String, sqlx::Error> {
    let mut connection = options.connect().await?;
    let until = Instant::now() + BUSY_TIMEOUT;
    let mode = loop {
        let asked = sqlx::query_scalar("pragma journal_mode = wal")
            .fetch_one(&mut connection)
            .await;
        match asked {
            Err(error) if primary_code(&error) == Some(BUSY) && Instant::now() < until => {
                sleep(MODE_PAUSE).await;
            }
            asked => break asked?,
        }
    };
    connection.close().await?;
    Ok(mode)
}

/// A connection whose transaction SQLite has ended by itself, as it does on a full disk, still counts as being in one and could
/// begin no other: it is replaced.
fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(TURN_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
}

/// Makes a file for its owner only, when it is not there: SQLite gives its companions the same mode.
///
/// The file is made beside its place and linked into it. One that is there is not opened: to close it would take away the locks
/// that this process has on it, and with them what protects the database (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
fn make_private(path: &Path) -> Result<(), OpenError> {
    let refused = |error| OpenError::of_system(path, error);
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(refused(io::ErrorKind::IsADirectory.into())),
        Ok(_) => {
            may_write(path).map_err(refused)?;
            return may_write(directory_of(path)).map_err(refused);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
    }
    let directory = directory_of(path);
    may_write(directory).map_err(refused)?;
    let fresh = tempfile::NamedTempFile::new_in(directory).map_err(refused)?;
    match fresh.into_temp_path().persist_noclobber(path) {
        Ok(()) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(refused(failed.error)),
    }
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Asks before SQLite does: beside a file that it can only read it would leave companions that can only be read, too, and the
/// cure of the one would not be the cure of the others.
fn may_write(path: &Path) -> io::Result<()> {
    let all = Access::READ_OK | Access::WRITE_OK;
    Ok(rustix::fs::accessat(CWD, path, all, AtFlags::EACCESS)?)
}
