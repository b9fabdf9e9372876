//! Brings a file to the version of this binary: forward only, each step in one transaction with its version number.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};

use crate::OpenError;
use crate::open::directory_of;

/// "csPn": marks a SQLite file as a record of cs-panel.
pub(crate) const APPLICATION_ID: i32 = 0x6373_506e;

/// One step of the schema. Once landed it is never edited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// The version that it leads to: 1, 2 and so on.
    pub(crate) version: u32,
    pub(crate) sql: &'static str,
}

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        sql: include_str!("../migrations/0001_record.sql"),
    },
    Migration {
        version: 2,
        sql: include_str!("../migrations/0002_invariants.sql"),
    },
    Migration {
        version: 3,
        sql: include_str!("../migrations/0003_left_behind.sql"),
    },
    Migration {
        version: 4,
        sql: include_str!("../migrations/0004_verify.sql"),
    },
    Migration {
        version: 5,
        sql: include_str!("../migrations/0005_choice.sql"),
    },
    Migration {
        version: 6,
        sql: include_str!("../migrations/0006_usage.sql"),
    },
    Migration {
        version: 7,
        sql: include_str!("../migrations/0007_rules.sql"),
    },
    Migration {
        version: 8,
        sql: include_str!("../migrations/0008_attachments.sql"),
    },
    Migration {
        version: 9,
        sql: include_str!("../migrations/0009_events.sql"),
    },
];

/// What a file is.
enum Found {
    Empty,
    Ours { version: u32 },
    SomethingElse,
}

/// Migrates the file at this path; one that is older and not empty is copied first. One program at a time does so, the others wait
/// for it. A file that has this version already is only looked at.
pub(crate) async fn migrate(
    path: &Path,
    options: &SqliteConnectOptions,
    migrations: &[Migration],
) -> Result<(), OpenError> {
    let failed = |source| OpenError::of(path, source);
    let mut connection = options.connect().await.map_err(failed)?;
    let known = migrations.last().map_or(0, |newest| newest.version);
    match version_of(path, &mut connection, known).await? {
        version if version == known => {}
        0 => carry_out(path, &mut connection, migrations, known).await?,
        _ => bring_on(path, &mut connection, migrations, known).await?,
    }
    connection.close().await.map_err(failed)
}

/// Copies an older file and migrates it, unless another program has done so in the meantime.
async fn bring_on(
    path: &Path,
    connection: &mut SqliteConnection,
    migrations: &[Migration],
    known: u32,
) -> Result<(), OpenError> {
    let _lock = wait_for_turn(path).await?;
    let version = version_of(path, connection, known).await?;
    if version == known {
        return Ok(());
    }
    let copied = copy(path, connection, version).await?;
    let done = carry_out(path, connection, migrations, known).await;
    if done.is_err() {
        // The file is as it was. Copies of every try would fill the disk.
        let removed = std::fs::remove_file(&copied);
        tracing::debug!(?removed, copy = %copied.display(), "the copy of a migration that failed");
    }
    done
}

/// Returns the version of the file, 0 for an empty one.
async fn version_of(path: &Path, connection: &mut SqliteConnection, known: u32) -> Result<u32, OpenError> {
    let failed = |source| OpenError::of(path, source);
    // One moment: another process may be making the tables while they are looked at.
    let mut tx = connection.begin().await.map_err(failed)?;
    let found = look(&mut tx).await.map_err(failed)?;
    tx.rollback().await.map_err(failed)?;
    check(path, &found, known)
}

/// Waits until no other program migrates this file. The lock is a file of its own, which stays: to open and close the database
/// itself would take away the locks that this process has on it.
async fn wait_for_turn(path: &Path) -> Result<File, OpenError> {
    let place = beside(path, ".migration");
    let there = place.clone();
    let locked = tokio::task::spawn_blocking(move || {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).mode(0o600).open(&there)?;
        file.lock()?;
        Ok(file)
    });
    let locked = locked
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()));
    locked.map_err(|error| OpenError::of_system(&place, error))
}

/// Takes the write lock, looks again, and carries out what is missing.
async fn carry_out(
    path: &Path,
    connection: &mut SqliteConnection,
    migrations: &[Migration],
    known: u32,
) -> Result<(), OpenError> {
    let failed = |source| OpenError::of(path, source);
    let mut tx = connection.begin_with("begin immediate").await.map_err(failed)?;
    let found = look(&mut tx).await.map_err(failed)?;
    let version = check(path, &found, known)?;
    for step in migrations.iter().filter(|step| step.version > version) {
        apply(&mut tx, step)
            .await
            .map_err(|source| OpenError::Migration {
                path: path.to_owned(),
                to: step.version,
                source,
            })?;
    }
    touch(&mut tx).await.map_err(failed)?;
    tx.commit().await.map_err(failed)
}

async fn apply(connection: &mut SqliteConnection, step: &Migration) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(step.sql).execute(&mut *connection).await?;
    let version = format!("pragma user_version = {}", step.version);
    sqlx::raw_sql(AssertSqlSafe(version))
        .execute(&mut *connection)
        .await?;
    Ok(())
}

/// Writes the mark, whether or not it is there: a file that cannot be written is found out now and not at the first send.
async fn touch(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let mark = format!("pragma application_id = {APPLICATION_ID}");
    sqlx::raw_sql(AssertSqlSafe(mark)).execute(connection).await?;
    Ok(())
}

async fn look(connection: &mut SqliteConnection) -> Result<Found, sqlx::Error> {
    let mark: i32 = sqlx::query_scalar("pragma application_id")
        .fetch_one(&mut *connection)
        .await?;
    let version: i64 = sqlx::query_scalar("pragma user_version")
        .fetch_one(&mut *connection)
        .await?;
    let tables: i64 = sqlx::query_scalar("select count(*) from sqlite_schema")
        .fetch_one(&mut *connection)
        .await?;
    Ok(match u32::try_from(version) {
        Ok(version) if mark == APPLICATION_ID => Found::Ours { version },
        Ok(0) if mark == 0 && tables == 0 => Found::Empty,
        Ok(_) | Err(_) => Found::SomethingElse,
    })
}

/// Returns the version of the file, 0 for an empty one.
fn check(path: &Path, found: &Found, known: u32) -> Result<u32, OpenError> {
    let path = path.to_owned();
    match found {
        Found::Empty => Ok(0),
        Found::Ours { version } if *version <= known => Ok(*version),
        Found::Ours { version } => Err(OpenError::TooNew {
            path,
            found: *version,
            known,
        }),
        Found::SomethingElse => Err(OpenError::NotOurs { path }),
    }
}

/// Copies the whole database beside itself, as of one moment, also while others use it, for its owner only, and returns where the
/// copy is. One that is there already stays: somebody may have gone back to it, or to another one, and gone on from there.
async fn copy(path: &Path, connection: &mut SqliteConnection, version: u32) -> Result<PathBuf, OpenError> {
    let first = copy_path(path, version);
    let unreachable = |error| OpenError::of_system(&first, error);
    let place = tempfile::NamedTempFile::new_in(directory_of(path)).map_err(unreachable)?;
    let mut partial = place.into_temp_path();
    let text = partial.to_string_lossy().into_owned();
    sqlx::query("vacuum into ?1")
        .bind(text)
        .execute(connection)
        .await
        .map_err(|source| OpenError::Copy {
            path: path.to_owned(),
            source,
        })?;
    let synced = File::open(&partial).and_then(|file| file.sync_all());
    synced.map_err(unreachable)?;
    let mut number = 1;
    loop {
        let copy = match number {
            1 => first.clone(),
            more => first.with_added_extension(more.to_string()),
        };
        match partial.persist_noclobber(&copy) {
            Ok(()) => return Ok(copy),
            Err(taken) if taken.error.kind() == std::io::ErrorKind::AlreadyExists => {
                partial = taken.path;
                number += 1;
            }
            Err(refused) => return Err(unreachable(refused.error)),
        }
    }
}

/// Returns where the copy of a file goes before it leaves a version.
pub(crate) fn copy_path(path: &Path, version: u32) -> PathBuf {
    beside(path, &format!(".version-{version}"))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}
