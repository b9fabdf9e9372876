//! The laws of the record over a Postgres server.
