//! The record in one SQLite file: [`RowStore`](cs_record::RowStore) of cs-record for one machine, without a server.
//!
//! WAL, foreign keys, full synchronisation. All writes of a process go through one connection, in the order in which they came
//! (SQLite's own busy handler is unfair and starves writers); another process is waited for, so that nobody sees "database is
//! locked". A file that was replaced under it, or whose tables
//! somebody changed, is opened anew, so that no answer comes from what is not the record any more. The words of the SQL are in `queries/`, one statement a file (docs/adr/0002); the schema is in `migrations/`.
//!
//! This crate must never decide anything: rules are in cs-record.
#![warn(clippy::wildcard_enum_match_arm)]

mod attachments;
mod briefs;
#[cfg(test)]
mod changed_test;
mod connections;
mod error;
mod events;
mod forget;
#[cfg(test)]
mod full_test;
mod limits;
mod load;
mod lock;
mod machines;
mod migrate;
#[cfg(test)]
mod migrate_test;
mod open;
#[cfg(test)]
mod queries_test;
mod reads;
mod row_asks;
mod row_cards;
mod row_limits;
mod row_runs;
mod script;
mod standing;
mod store;
mod take;
mod taken;
mod texts;
mod write;

pub use open::OpenError;
pub use store::{SqliteStore, SqliteTx};
pub use texts::{Text, every_text};
