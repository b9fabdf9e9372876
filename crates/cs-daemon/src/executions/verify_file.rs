//! What a verify is for, beside its execution: people and the removal of what is old find its card by it.

use std::io;

use cs_model::{CardId, CodebaseId, Epoch, LandingId};
use cs_supervise::ExecutionDir;
use serde::{Deserialize, Serialize};

use super::beside;

const NAME: &str = "verify.json";

/// What the daemon notes of a verify beside its execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyFile {
    /// The landing.
    pub landing: LandingId,
    /// Its life.
    pub epoch: Epoch,
    /// The card whose work is to land.
    pub card: CardId,
    /// The codebase.
    pub codebase: CodebaseId,
    /// The commit that it runs on, hexadecimal.
    pub commit: String,
    /// The verify command.
    pub command: String,
}

impl VerifyFile {
    /// Writes it, durably, before anything of the execution is begun.
    pub(super) fn write(&self, dir: &ExecutionDir) -> io::Result<()> {
        beside::write(dir, NAME, self)
    }

    /// Reads it; nothing for the execution of an agent.
    #[must_use]
    pub fn read(dir: &ExecutionDir) -> Option<Self> {
        beside::read(dir, NAME)
    }
}
