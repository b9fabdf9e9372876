//! The record of these tests, and what every command is given beside it.

use std::process::Command;

/// The file in the state directory, of which no command needs to be told.
pub(crate) struct Record {
    env: Vec<(String, String)>,
}

impl Record {
    /// A record whose commands get these variables too.
    pub(crate) fn with(env: Vec<(String, String)>) -> Self {
        Self { env }
    }

    pub(crate) fn new() -> Self {
        Self::with(Vec::new())
    }

    pub(crate) fn name_to(&self, command: &mut Command) {
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
    }
}
