//! The record on a Postgres server: [`RowStore`](cs_record::RowStore) of cs-record for any number of machines and people.
//!
//! This crate must never decide anything: rules are in cs-record.
#![warn(clippy::wildcard_enum_match_arm)]
