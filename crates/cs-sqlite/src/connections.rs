//! The connections to the file, and the moments at which they are not to the record any more.
//!
//! A connection goes on with the file that it was opened on, also when another one was put in its place, and with the columns that its
//! statements had when they were prepared: sqlx ends the thread of a connection that meets more of them, and an answer that was on
//! its way ends as if it had no more rows. So every transaction looks, within itself, whether the schema is as it was when its connection was
//! opened, and whether the file is in its place. If not, all connections are opened anew, as at the start, with all checks.

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cs_record::StoreError;
use sqlx::{Error, Sqlite, SqliteConnection, SqlitePool, Transaction};
use tokio::sync::Mutex;

use crate::OpenError;
use crate::error::{commit_error, store_error};
use crate::migrate::Migration;
use crate::open::connect;
use crate::script;

/// So often in a row the schema may be found changed before a call gives up.
const TRIES: u32 = 3;

/// Which file a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// Looks at what is in this place.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self {
            device: found.dev(),
            number: found.ino(),
        })
    }
}

/// Reads the count of changes of the schema, by whomever. Within a transaction it also fixes what the transaction sees.
pub(crate) async fn schema_version(connection: &mut SqliteConnection) -> Result<i64, Error> {
    sqlx::query_scalar("pragma schema_version")
        .fetch_one(connection)
        .await
}

/// The connections to one file, as it was when they were opened.
#[derive(Debug)]
pub(crate) struct Connections {
    file: FileId,
    schema: i64,
    /// One connection: whoever writes waits for it, first come, first served.
    writer: SqlitePool,
    readers: SqlitePool,
    /// `data_version` counts the changes that other connections than the asking one made: so it asks always on this one.
    watch: Mutex<SqliteConnection>,
    /// Whether they are of no use any more.
    stale: AtomicBool,
}

impl Connections {
    pub(crate) fn new(
        file: FileId,
        schema: i64,
        writer: SqlitePool,
        readers: SqlitePool,
        watch: SqliteConnection,
    ) -> Self {
        Self {
            file,
            schema,
            writer,
            readers,
            watch: Mutex::new(watch),
            stale: AtomicBool::new(false),
        }
    }

    fn leave(&self) {
        self.stale.store(true, Ordering::Relaxed);
    }

    fn is_left(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    /// Says whether the file is still what its path leads to.
    fn is_in_place(&self, path: &Path) -> bool {
        FileId::of(path).is_ok_and(|found| found == self.file)
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy)]
enum Aim {
    Read,
    Write,
}

impl Aim {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "begin a read",
            Self::Write => "begin",
        }
    }
}

/// The way to the record: its path, and the connections to what is there now.
#[derive(Debug)]
pub(crate) struct Link {
    path: PathBuf,
    migrations: Arc<[Migration]>,
    current: Mutex<Arc<Connections>>,
}

impl Link {
    pub(crate) async fn open(path: &Path, migrations: Arc<[Migration]>) -> Result<Self, OpenError> {
        let current = Mutex::new(Arc::new(connect(path, &migrations).await?));
        Ok(Self {
            path: path.to_owned(),
            migrations,
            current,
        })
    }

    /// Begins a transaction with the write lock of the file.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        self.transaction(Aim::Write).await
    }

    /// Begins a transaction that sees one snapshot and writes nothing.
    pub(crate) async fn snapshot(&self) -> Result<Tx, StoreError> {
        self.transaction(Aim::Read).await
    }

    async fn transaction(&self, aim: Aim) -> Result<Tx, StoreError> {
        for _ in 0..TRIES {
            let on = self.connections().await?;
            let begun = match aim {
                Aim::Read => on.readers.begin().await,
                Aim::Write => on.writer.begin_with("begin immediate").await,
            };
            let mut tx = begun.map_err(|error| failed(&on, aim.name(), error))?;
            let schema = schema_version(&mut tx).await;
            if schema.map_err(|error| failed(&on, "schema_version", error))? == on.schema {
                let path = self.path.clone();
                return Ok(Tx { tx, on, path });
            }
            tracing::info!(path = %self.path.display(), "the tables of the record were changed");
            on.leave();
        }
        Err(StoreError::Conflict)
    }

    /// Returns the connections to the file that is in its place now. Nothing is made where none is.
    pub(crate) async fn connections(&self) -> Result<Arc<Connections>, StoreError> {
        let mut current = self.current.lock().await;
        let found = FileId::of(&self.path).map_err(|source| {
            StoreError::Away(Box::new(Missing {
                path: self.path.clone(),
                source,
            }))
        })?;
        if current.file != found || current.is_left() {
            tracing::warn!(path = %self.path.display(), "the record is opened anew");
            *current = Arc::new(self.anew(&current, found).await?);
        }
        Ok(Arc::clone(&current))
    }

    /// Opens what is in the file's place now. Another file is the same record, as a backup of it is, when it knows the first card of
    /// the former one: of an empty file that somebody made meanwhile every run would be taken for gone.
    async fn anew(&self, former: &Connections, found: FileId) -> Result<Connections, StoreError> {
        let first = if former.file == found {
            None
        } else {
            first_card(&mut *former.watch.lock().await, None).await?
        };
        let opened = connect(&self.path, &self.migrations).await;
        let opened = opened.map_err(|error| StoreError::Away(Box::new(error)))?;
        if first.is_some()
            && first_card(&mut *opened.watch.lock().await, first.as_deref())
                .await?
                .is_none()
        {
            let path = self.path.clone();
            return Err(StoreError::Away(Box::new(AnotherRecord { path })));
        }
        Ok(opened)
    }

    pub(crate) async fn data_version(&self) -> Result<i64, StoreError> {
        let on = self.connections().await?;
        let mut watch = on.watch.lock().await;
        sqlx::query_scalar("pragma data_version")
            .fetch_one(&mut *watch)
            .await
            .map_err(|error| failed(&on, "data_version", error))
    }

    pub(crate) async fn close(&self) {
        let current = Arc::clone(&*self.current.lock().await);
        current.close().await;
    }
}

/// Says what an error of a connection means. One that is of no use is not used again.
fn failed(on: &Connections, op: &'static str, error: Error) -> StoreError {
    if matches!(error, Error::WorkerCrashed | Error::PoolTimedOut | Error::Io(_)) {
        on.leave();
    }
    store_error(op, error)
}

async fn first_card(
    connection: &mut SqliteConnection,
    named: Option<&str>,
) -> Result<Option<String>, StoreError> {
    let query = sqlx::query(include_str!("../queries/first_card.sql")).bind(named);
    let (id,): (Option<String>,) = script::only(connection, "first_card", query).await?;
    Ok(id)
}

/// The file in its place is another record.
#[derive(Debug, thiserror::Error)]
#[error(
    "the file {} is another record than the one that was there before: put that one or a backup of it back; to go on with this one, end \
     what uses the former, such as `cs-panel run`, and start it again",
    path.display()
)]
struct AnotherRecord {
    path: PathBuf,
}

/// There is no file.
#[derive(Debug, thiserror::Error)]
#[error(
    "the database file {} cannot be seen any more: put it back; to begin with a new record, end what uses this one, such as `cs-panel run`, first",
    path.display()
)]
struct Missing {
    path: PathBuf,
    source: io::Error,
}

/// Another file is in the place of the one that was written.
#[derive(Debug, thiserror::Error)]
#[error("the database file {} was replaced while it was written", path.display())]
struct Replaced {
    path: PathBuf,
}

/// A transaction on the record. Dropping it rolls it back.
#[derive(Debug)]
pub(crate) struct Tx {
    tx: Transaction<'static, Sqlite>,
    on: Arc<Connections>,
    path: PathBuf,
}

impl Tx {
    /// Commits. What went to a file that is not in its place any more is not known to be on the record.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.tx.commit().await.map_err(commit_error)?;
        if self.on.is_in_place(&self.path) {
            return Ok(());
        }
        Err(StoreError::Unknown(Box::new(Replaced { path: self.path })))
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        self.tx
            .rollback()
            .await
            .map_err(|error| store_error("rollback", error))
    }
}

impl Deref for Tx {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        &self.tx
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.tx
    }
}
