//! Errors of the server as errors of a store.

use cs_record::StoreError;
use sqlx::Error;

/// Conditions by their code (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
pub(crate) mod code {
    pub(crate) const READ_ONLY: &str = "25006";
    pub(crate) const BAD_AUTHORIZATION: &str = "28000";
    pub(crate) const BAD_PASSWORD: &str = "28P01";
    pub(crate) const NO_DATABASE: &str = "3D000";
    pub(crate) const NO_RIGHT: &str = "42501";
    pub(super) const DISK_FULL: &str = "53100";
    pub(super) const TOO_MANY_CONNECTIONS: &str = "53300";
    pub(super) const CANCELLED: &str = "57014";
    pub(super) const LOCK_NOT_AVAILABLE: &str = "55P03";
    pub(super) const UNIQUE_VIOLATION: &str = "23505";
}

/// The key of cards. Their ids come from callers, so that two may write the same new card at once; everything else that is unique
/// is written under the lock of its card.
const CARD_KEY: &str = "cards_pkey";

/// Returns the code of an error that the server itself reported.
pub(crate) fn sqlstate(error: &Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Says what an error means to the loop of the record. `op` is what was being done.
pub(crate) fn store_error(op: &'static str, error: Error) -> StoreError {
    match sqlstate(&error).as_deref() {
        Some(state) if is_lost_race(state, &error) => StoreError::Conflict,
        Some(state) if is_refusal(state) => StoreError::Corrupt(format!("{op}: {error}")),
        Some(_) => StoreError::Away(Box::new(Failed { op, source: error })),
        None if is_decoding(&error) => StoreError::Corrupt(format!("{op}: {error}")),
        None => StoreError::Away(Box::new(Failed { op, source: error })),
    }
}

/// Says what an error of a commit means: unless the server itself refused it, nobody knows whether it happened. A server that ends
/// a connection (class 57) may have committed before.
pub(crate) fn commit_error(error: Error) -> StoreError {
    let op = "commit";
    match sqlstate(&error).as_deref() {
        Some(state) if is_lost_race(state, &error) || is_refusal(state) => store_error(op, error),
        Some(_) | None => StoreError::Unknown(Box::new(Failed { op, source: error })),
    }
}

/// A serialisation failure, a deadlock, a lock that took too long, or a card that somebody else has just written.
fn is_lost_race(state: &str, error: &Error) -> bool {
    let constraint = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::constraint);
    state.starts_with("40")
        || state == code::LOCK_NOT_AVAILABLE
        || (state == code::UNIQUE_VIOLATION && constraint == Some(CARD_KEY))
}

/// A constraint, a value that cannot be, something that is not in the schema, damaged data.
fn is_refusal(state: &str) -> bool {
    let not_there = ["42P01", "42703", "42883", "42704", "3F000"];
    ["22", "23", "P0", "XX"]
        .iter()
        .any(|class| state.starts_with(class))
        || not_there.contains(&state)
}

/// Whether an error says that the connection is gone, so that another one may do better. Not whether what was sent on it was
/// carried out.
pub(crate) fn is_connection(error: &Error) -> bool {
    match sqlstate(error) {
        Some(state) => state.starts_with("57P") || state.starts_with("08") || state == "25P03",
        None => matches!(error, Error::Io(_) | Error::Protocol(_) | Error::WorkerCrashed),
    }
}

/// Whether a connection was given up because it would not be as secure as was asked for. What the server shows of itself is judged
/// within the handshake, whose errors come as data that is not valid.
pub(crate) fn is_insecure(error: &Error) -> bool {
    let is_judged = |error: &std::io::Error| error.kind() == std::io::ErrorKind::InvalidData;
    matches!(error, Error::Tls(_)) || matches!(error, Error::Io(error) if is_judged(error))
}

fn is_decoding(error: &Error) -> bool {
    matches!(
        error,
        Error::ColumnDecode { .. }
            | Error::Decode(_)
            | Error::Encode(_)
            | Error::ColumnNotFound(_)
            | Error::RowNotFound
    )
}

/// What an error means that passes, or that somebody at the server can mend.
fn cure(error: &Error) -> &'static str {
    match (sqlstate(error).as_deref(), error) {
        (Some(code::DISK_FULL), _) => ": the disk of the server is full, free some",
        (Some(code::READ_ONLY), _) => {
            ": the server can only be read, as a standby: connect to the primary one"
        }
        (Some(code::NO_RIGHT), _) => ": the user has no right to it, let the owner of the schema grant it",
        (Some(code::TOO_MANY_CONNECTIONS), _) => ": the server has no connection left for us",
        (Some(code::CANCELLED), _) => ": the server gave up after the time that a statement may take",
        (None, Error::PoolTimedOut) => ": there was no connection to the server within 10 s, is it running?",
        (None, Error::Io(_)) => ": the connection to the server is gone, is it running?",
        _ => "",
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
pub(crate) fn undecodable(
    table: &'static str,
    id: impl std::fmt::Display,
    why: impl std::fmt::Display,
) -> StoreError {
    StoreError::Corrupt(format!("row {id} of {table}: {why}"))
}
