//! The record of these tests.

use std::process::Command;

/// The file in the state directory, of which no command needs to be told.
pub(crate) struct Record;

impl Record {
    pub(crate) fn new() -> Self {
        Self
    }

    /// Tells a command where the record is.
    pub(crate) fn name_to(&self, _: &mut Command) {}
}
