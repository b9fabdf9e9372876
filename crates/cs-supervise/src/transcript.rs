//! What an execution said, as its caller understood it: an append-only file of JSON lines, the one that readers see.
//!
//! A line is `{"event": ...}`; the last line of each append also has `"reached": {"stdout": N, "stderr": N}`, the spool
//! offsets that everything up to it covers. An append is whole or, after a crash, not there: what follows the last
//! `reached` is cut off when the file is opened for writing, and no reader returns it.

mod reader;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

pub use reader::{TranscriptLine, TranscriptReader};

/// How far the two spools of an execution were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolOffsets {
    /// Into the standard output's spool, in bytes.
    pub stdout: u64,
    /// Into the standard error's spool, in bytes.
    pub stderr: u64,
}

/// What a transcript held when it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resumed {
    /// From where the spools must be read on.
    pub reached: SpoolOffsets,
    /// How many lines there are.
    pub lines: u64,
    /// How many bytes of an unfinished append were cut off.
    pub cut_bytes: u64,
}

/// A transcript cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// Somebody else has it open for writing.
    #[error("transcript {} is being written by somebody else", path.display())]
    InUse {
        /// The transcript.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{op} of transcript {} failed", path.display())]
    Io {
        /// What was being done.
        op: &'static str,
        /// The transcript.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// An event cannot be written as JSON, or a line is not what the reader expects.
    #[error("a line of transcript {} does not fit its type", path.display())]
    Event {
        /// The transcript.
        path: PathBuf,
        /// What does not fit.
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct Line<E> {
    event: E,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reached: Option<SpoolOffsets>,
}

/// Between two looks at a lock.
const LOCK_STEP: Duration = Duration::from_millis(10);

#[expect(clippy::disallowed_methods, reason = "nothing tells when a file lock is free")]
fn look_again_later() {
    std::thread::sleep(LOCK_STEP);
}

/// A transcript that is open for writing; nobody else can have it open so.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: File,
    length: u64,
    lines: u64,
}

impl Drop for Transcript {
    fn drop(&mut self) {
        // A child that is just being started has a copy of the descriptor: to close ours would not give the lock back.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "the lock of a transcript is given back only with its last copy");
        }
    }
}

impl Transcript {
    /// Opens a transcript like [`open`](Self::open), and waits up to `limit` for whoever still writes it: a follower that was told to
    /// end may be in the middle of an append. Blocks the thread; nothing tells when a file lock is free, so it is tried every 10 ms.
    ///
    /// # Errors
    /// It is in use for longer, or the system refused.
    pub fn open_within(path: &Path, limit: Duration) -> Result<(Self, Resumed), TranscriptError> {
        let deadline = Instant::now() + limit;
        loop {
            match Self::open(path) {
                Err(TranscriptError::InUse { .. }) if Instant::now() < deadline => look_again_later(),
                done => return done,
            }
        }
    }

    /// Opens a transcript (0600), makes it when it is not there, and cuts off an unfinished append.
    ///
    /// # Errors
    /// Somebody else writes it, or the system refused.
    pub fn open(path: &Path) -> Result<(Self, Resumed), TranscriptError> {
        let failed = |op| {
            move |source| TranscriptError::Io {
                op,
                path: path.to_path_buf(),
                source,
            }
        };
        let is_new = !path.try_exists().map_err(failed("open"))?;
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path);
        let file = file.map_err(failed("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(TranscriptError::InUse {
                    path: path.to_path_buf(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
        }
        if let Some(parent) = path.parent().filter(|_| is_new) {
            File::open(parent)
                .and_then(|parent| parent.sync_all())
                .map_err(failed("create"))?;
        }
        let (length, mut resumed) = scan(&file).map_err(failed("read"))?;
        let found = file.metadata().map_err(failed("read"))?.len();
        if found > length {
            file.set_len(length)
                .and_then(|()| file.sync_all())
                .map_err(failed("cut"))?;
            resumed.cut_bytes = found - length;
        }
        Ok((
            Self {
                path: path.to_path_buf(),
                file,
                length,
                lines: resumed.lines,
            },
            resumed,
        ))
    }

    /// How long it is, in bytes.
    #[must_use]
    pub fn length_bytes(&self) -> u64 {
        self.length
    }

    /// How many lines there are.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Appends events, all or none, with the offsets that they cover. On return they are durable, and only then do the
    /// offsets count. Without an event nothing is written, the offsets neither.
    ///
    /// # Errors
    /// Nothing was appended, as far as later reads and writes are concerned.
    pub fn append<E: Serialize>(
        &mut self,
        events: &[E],
        reached: SpoolOffsets,
    ) -> Result<(), TranscriptError> {
        let mut bytes = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let reached = (index + 1 == events.len()).then_some(reached);
            serde_json::to_writer(&mut bytes, &Line { event, reached }).map_err(|source| {
                TranscriptError::Event {
                    path: self.path.clone(),
                    source,
                }
            })?;
            bytes.push(b'\n');
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if let Err(source) = self.write_durably(&bytes) {
            return Err(TranscriptError::Io {
                op: "append",
                path: self.path.clone(),
                source,
            });
        }
        self.length += bytes.len() as u64;
        self.lines += events.len() as u64;
        Ok(())
    }

    fn write_durably(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Cuts off what an earlier, failed append may have left: a disk that was full then.
        if self.file.metadata()?.len() != self.length {
            self.file.set_len(self.length)?;
        }
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // Should the cut fail as well, the next append or the next open does it.
            let _: io::Result<()> = self.file.set_len(self.length);
        }
        written
    }
}

/// Finds the end of the last whole append.
fn scan(file: &File) -> io::Result<(u64, Resumed)> {
    let mut reader = BufReader::new(file);
    let (mut length, mut lines, mut whole, mut resumed) = (0, 0, 0, Resumed::default());
    let mut line = Vec::new();
    loop {
        line.clear();
        length += reader.read_until(b'\n', &mut line)? as u64;
        if !line.ends_with(b"\n") {
            return Ok((whole, resumed));
        }
        // A line that is none: nothing after it can be trusted to be where it belongs.
        let Ok(parsed) = serde_json::from_slice::<Line<IgnoredAny>>(&line) else {
            return Ok((whole, resumed));
        };
        lines += 1;
        if let Some(reached) = parsed.reached {
            whole = length;
            resumed = Resumed {
                reached,
                lines,
                cut_bytes: 0,
            };
        }
    }
}
