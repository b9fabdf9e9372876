//! Standard error is for people who look for what went wrong: its two ends are kept, and the disk of its middle is given back.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_supervise::{ExecutionDir, Puncher};
use cs_worktree::plain;

use super::follow::{open_puncher, punch};

/// How often the disk of what nobody reads is given back.
pub(super) const ERRORS_EVERY: Duration = Duration::from_secs(2);

/// How much of the end of what was written there is looked at.
const LAST_WORDS_BYTES: u64 = 4096;

/// Reads the last 4 KiB of a file, with what is no UTF-8 replaced: of the standard error of an execution it is what a person looks for
/// first. Nothing where there is no file.
///
/// # Errors
/// The file cannot be read.
pub fn last_words(file: &Path) -> io::Result<String> {
    let mut file = match plain::open(file) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let from = file.metadata()?.len().saturating_sub(LAST_WORDS_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(LAST_WORDS_BYTES).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

/// What an agent says on standard error.
#[derive(Debug)]
pub(super) struct Errors {
    spool: PathBuf,
    puncher: Option<Puncher>,
    length_bytes: u64,
}

impl Errors {
    pub(super) fn of(dir: &ExecutionDir) -> Self {
        let spool = dir.stderr_spool();
        Self {
            puncher: open_puncher(&spool),
            spool,
            length_bytes: 0,
        }
    }

    /// Gives back the disk of the middle of what there is by now.
    pub(super) async fn give_back(&mut self) {
        let Ok(length_bytes) = fs::metadata(&self.spool).map(|spool| spool.len()) else {
            return;
        };
        if length_bytes == self.length_bytes {
            return;
        }
        self.length_bytes = length_bytes;
        let Some(puncher) = self.puncher.take() else {
            return;
        };
        // A hole of gigabytes takes its time. Dropped before it returns, or after a panic, nothing is given back any more.
        let punched = tokio::task::spawn_blocking(move || punch(puncher, length_bytes)).await;
        self.puncher = punched.ok().flatten();
    }
}
