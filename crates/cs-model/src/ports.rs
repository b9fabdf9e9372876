//! What comes in from outside: the time and randomness.

use std::fmt;

use uuid::Uuid;

use crate::Time;

/// Tells the wall-clock time. It is for people and for ages; it never decides who owns a claim (the fence does).
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the present time in UTC.
    fn now(&self) -> Time;
}

/// Makes ids and secrets. The real one asks the operating system; tests give a seeded one.
pub trait IdSource: fmt::Debug + Send + Sync {
    /// Returns a fresh UUIDv7.
    fn uuid_v7(&self) -> Uuid;
    /// Returns 32 random bytes that nobody can guess.
    fn secret(&self) -> [u8; 32];
}
