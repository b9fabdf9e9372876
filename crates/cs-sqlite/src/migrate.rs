//! Brings a file to the version of this binary: forward only, each step in one transaction with its version number.

use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};

use crate::OpenError;
use crate::open::create_private;

/// "csPn": marks a SQLite file as a record of cs-panel.
pub(crate) const APPLICATION_ID: i32 = 0x6373_506e;

/// One step of the schema. Once landed it is never edited.
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
];

/// What a file is.
enum Found {
    Empty,
    Ours { version: u32 },
    SomethingElse,
}

/// Migrates the file at this path; one that is older and not empty is copied first.
pub(crate) async fn migrate(
    path: &Path,
    options: &SqliteConnectOptions,
    migrations: &[Migration],
) -> Result<(), OpenError> {
    let failed = |source| OpenError::of(path, source);
    let mut connection = options.connect().await.map_err(failed)?;
    let known = migrations.last().map_or(0, |newest| newest.version);
    // One moment: another process may be making the tables while they are looked at.
    let mut tx = connection.begin().await.map_err(failed)?;
    let found = look(&mut tx).await.map_err(failed)?;
    tx.rollback().await.map_err(failed)?;
    let version = check(path, &found, known)?;
    if version > 0 && version < known {
        copy(path, &mut connection, version).await?;
    }
    carry_out(path, &mut connection, migrations, known).await?;
    connection.close().await.map_err(failed)
}

/// Takes the write lock, which also proves that the file can be written, looks again, and carries out what is missing: another
/// process may have been faster.
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

/// Copies the whole database beside itself, as of one moment, also while others use it, for its owner only. A finished copy that
/// is there already stays: it is from the same version, before a migration that did not come to its end.
async fn copy(path: &Path, connection: &mut SqliteConnection, version: u32) -> Result<(), OpenError> {
    let copy = copy_path(path, version);
    if copy.exists() {
        return Ok(());
    }
    let failed = |source| OpenError::Migration {
        path: path.to_owned(),
        to: version + 1,
        source,
    };
    let unreachable = |path: &Path, source| OpenError::Unreachable {
        path: path.to_owned(),
        source,
    };
    let partial = copy.with_added_extension("partial");
    create_private(&partial)?;
    let text = partial.to_string_lossy().into_owned();
    sqlx::query("vacuum into ?1")
        .bind(text)
        .execute(connection)
        .await
        .map_err(failed)?;
    std::fs::rename(&partial, &copy).map_err(|source| unreachable(&copy, source))
}

/// Returns where the copy of a file goes before it leaves a version.
pub(crate) fn copy_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".version-{version}"));
    path.with_file_name(name)
}
