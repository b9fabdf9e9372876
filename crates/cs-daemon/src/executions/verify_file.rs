//! What a verify is for, beside its execution: people and the removal of what is old find its card by it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use cs_model::{CardId, CodebaseId, Epoch, LandingId};
use cs_supervise::ExecutionDir;
use serde::{Deserialize, Serialize};

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
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(dir.path().join(NAME))?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::File::open(dir.path())?.sync_all()
    }

    /// Reads it; nothing for the execution of an agent.
    #[must_use]
    pub fn read(dir: &ExecutionDir) -> Option<Self> {
        let bytes = fs::read(dir.path().join(NAME)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}
