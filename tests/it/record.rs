//! The record of these tests.

use std::path::Path;
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

/// Every text of the record in a state directory, with where it stands. No daemon runs.
pub(crate) fn texts(state: &Path) -> Vec<(String, String)> {
    let path = state.join("record.db");
    let read = cs_sqlite::every_text(&path);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let texts = runtime.expect("a runtime").block_on(read);
    let texts = texts.expect("it is read").into_iter();
    texts
        .map(|text| (format!("{}.{}", text.table, text.column), text.text))
        .collect()
}
