//! The record on a Postgres server (13 or newer): [`RowStore`](cs_record::RowStore) of cs-record for any number of machines and
//! people.
//!
//! A write is four round trips: BEGIN, one function that inserts the journal row, locks and *then* loads, one statement that writes
//! rows of every kind, COMMIT. One statement that locks and joins would be two trips fewer and lose turns: it reads what belongs to a
//! card as it was before it waited for the lock. Functions and statements decide nothing; the constraints say the invariants again.
//!
//! The words of the SQL are in `queries/`, one statement a file (docs/adr/0004); the schema and its
//! functions are in `migrations/`. Ids and names sort as their bytes; the clock is the server's.
//!
//! This crate must never decide anything: rules are in cs-record. It starts no process and reads no file but those that the URL, the
//! libpq variables and `~/.pgpass` name.
#![warn(clippy::wildcard_enum_match_arm)]

mod attachments;
mod columns;
mod error;
mod events;
mod limits;
mod listen;
mod load;
mod lock;
mod machines;
mod migrate;
mod open;
mod reads;
mod retention;
mod row_cards;
mod row_limits;
mod row_runs;
mod settings;
mod standing;
mod statement;
mod store;
mod text;
mod write;

pub use listen::{Heard, Listener, Silence};
pub use migrate::{Migrated, migrate};
pub use open::OpenError;
pub use settings::{Limits, Settings};
pub use store::{PostgresStore, PostgresTx};
