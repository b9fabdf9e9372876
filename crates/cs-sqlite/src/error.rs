//! Errors of the database as errors of a store.

use cs_record::StoreError;
use sqlx::Error;

/// Primary result codes of SQLite (<https://www.sqlite.org/rescode.html>).
pub(crate) const BUSY: i32 = 5;
const LOCKED: i32 = 6;
pub(crate) const READ_ONLY: i32 = 8;
const NOT_READ_OR_WRITTEN: i32 = 10;
pub(crate) const CORRUPT: i32 = 11;
pub(crate) const DATABASE_FULL: i32 = 13;
pub(crate) const FILE_NOT_OPENED: i32 = 14;
const CONSTRAINT: i32 = 19;
const MISMATCH: i32 = 20;
pub(crate) const NOT_A_DATABASE: i32 = 26;

/// Returns the primary result code of an error of SQLite itself.
pub(crate) fn primary_code(error: &Error) -> Option<i32> {
    let extended: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// Whether another program holds the lock of the file, and not a transaction of ours that has read an older state of it.
pub(crate) fn is_held(error: &Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| code.parse() == Ok(BUSY))
}

/// Says what an error means to the loop of the record. `op` is what was being done.
pub(crate) fn store_error(op: &'static str, error: Error) -> StoreError {
    match primary_code(&error) {
        // Whoever holds the lock was waited for: to decide anew would only wait once more.
        Some(BUSY) if is_held(&error) => StoreError::Away(Box::new(Failed { op, source: error })),
        Some(BUSY | LOCKED) => StoreError::Conflict,
        Some(CONSTRAINT | MISMATCH | CORRUPT | NOT_A_DATABASE) => {
            StoreError::Corrupt(format!("{op}: {error}"))
        }
        Some(_) => StoreError::Away(Box::new(Failed { op, source: error })),
        None if is_decoding(&error) => StoreError::Corrupt(format!("{op}: {error}")),
        None => StoreError::Away(Box::new(Failed { op, source: error })),
    }
}

/// Says what an error of a commit means: unless SQLite itself refused it, nobody knows whether it happened.
pub(crate) fn commit_error(error: Error) -> StoreError {
    let op = "commit";
    match primary_code(&error) {
        Some(BUSY) => StoreError::Conflict,
        Some(LOCKED | CONSTRAINT) => store_error(op, error),
        Some(_) | None => StoreError::Unknown(Box::new(Failed { op, source: error })),
    }
}

fn is_decoding(error: &Error) -> bool {
    matches!(
        error,
        Error::ColumnDecode { .. } | Error::Decode(_) | Error::ColumnNotFound(_) | Error::RowNotFound
    )
}

/// What to do about an error of the disk.
fn cure(error: &Error) -> &'static str {
    match primary_code(error) {
        Some(BUSY) => {
            ": another program has held the lock of the record for longer than is waited for it; end that program, or try again when it is done"
        }
        Some(DATABASE_FULL) => ": the disk has no room for the database, free some",
        Some(READ_ONLY | FILE_NOT_OPENED) => {
            ": this user must be allowed to write the database file and its directory"
        }
        Some(NOT_READ_OR_WRITTEN) => {
            ": the disk under the database does not read or write, or a limit of this user is reached"
        }
        Some(_) | None => "",
    }
}

/// A statement that failed.
#[derive(Debug, thiserror::Error)]
#[error("{op} failed{}", cure(source))]
struct Failed {
    op: &'static str,
    source: Error,
}

/// Says that a stored value is none that this binary knows.
pub(crate) fn undecodable(table: &'static str, id: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("row {id} of {table}: {why}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions, Executor};

    use super::*;

    #[tokio::test]
    async fn a_lock_that_another_program_holds_is_no_lost_race_and_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let options = SqliteConnectOptions::new()
            .filename(dir.path().join("a.db"))
            .create_if_missing(true)
            .busy_timeout(Duration::ZERO);
        let mut holder = options.connect().await.expect("opened");
        holder.execute("begin exclusive").await.expect("locked");
        let mut other = options.connect().await.expect("opened");
        let refused = other.execute("begin immediate").await.expect_err("it is held");
        let StoreError::Away(source) = store_error("begin", refused) else {
            panic!("it is away, and nothing was lost");
        };
        let said = source.to_string();
        assert!(said.contains("another program has held the lock"), "{said}");
    }
}
