//! Reading a spool while an agent appends to it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::change::ChangeWatch;
use crate::framer::{Framer, Record};
use crate::window::{Puncher, SpoolWindow};

const CHUNK_BYTES: usize = 64 * 1024;

/// What a follower comes upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// A line.
    Record(Record),
    /// The spool is shorter than what was read: somebody cut it. It is read again from its beginning.
    Truncated {
        /// How far it had been read.
        offset: u64,
    },
}

/// A spool cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("spool {} cannot be read", path.display())]
pub struct FollowError {
    /// The spool.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

/// Reads a spool by offset, in constant memory whatever its lines are: a chunk and one capped line.
///
/// A cut is noticed when the spool is shorter than what was read; one that has grown past that again is not.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    file: File,
    watch: ChangeWatch,
    framer: Framer,
    cap_bytes: usize,
    /// Where the next chunk is read from.
    position: u64,
    chunk: Vec<u8>,
    /// How much of the chunk was framed.
    framed: usize,
    puncher: Option<Puncher>,
}

impl Follower {
    /// Opens a spool at an offset, which must be 0 or a record's `end_offset`. Of each line at most `cap_bytes` are kept.
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The spool is not there or cannot be opened.
    pub fn open(path: &Path, offset: u64, cap_bytes: usize) -> Result<Self, FollowError> {
        let failed = |source| FollowError {
            path: path.to_path_buf(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            watch: ChangeWatch::on(path),
            framer: Framer::new(offset, cap_bytes),
            cap_bytes,
            position: offset,
            chunk: Vec::new(),
            framed: 0,
            puncher: None,
        })
    }

    /// Gives back, while a line is being read that is longer than its cap, the disk of what lies beyond, but for this window: nobody will
    /// ever use it. A later follower reads the same record. Where the file system makes no holes nothing happens.
    #[must_use]
    pub fn giving_back(mut self, window: SpoolWindow) -> Self {
        self.puncher = Puncher::open(&self.path, window)
            .inspect_err(|error| tracing::debug!(%error, "the disk of long lines is not given back"))
            .ok();
        self
    }

    /// The offset from which a later follower must read to miss nothing of what was not yet returned.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.framer.line_offset()
    }

    /// Waits for the next whole line. Cancel safe; it never returns when nothing is appended any more: then
    /// [`drain`](Self::drain).
    ///
    /// # Errors
    /// The spool cannot be read.
    pub async fn next(&mut self) -> Result<Followed, FollowError> {
        loop {
            match self.step()? {
                Step::Came(followed) => return Ok(followed),
                // A line without an end for gigabytes must leave others their turn.
                Step::Read => tokio::task::yield_now().await,
                Step::AtEnd => self.watch.changed().await.map_err(|source| self.failed(source))?,
            }
        }
    }

    /// Returns the next line that is there already, the last one even without an end, and `None` at the end. For a spool
    /// that nobody appends to any more. Cancel safe.
    ///
    /// # Errors
    /// The spool cannot be read.
    pub async fn drain(&mut self) -> Result<Option<Followed>, FollowError> {
        loop {
            match self.step()? {
                Step::Came(followed) => return Ok(Some(followed)),
                Step::Read => tokio::task::yield_now().await,
                Step::AtEnd => return Ok(self.framer.finish().map(Followed::Record)),
            }
        }
    }

    fn step(&mut self) -> Result<Step, FollowError> {
        while self.framed < self.chunk.len() {
            let (taken, record) = self.framer.feed(&self.chunk[self.framed..]);
            self.framed += taken;
            if let Some(record) = record {
                return Ok(Step::Came(Followed::Record(record)));
            }
        }
        self.give_back();
        let length = self.file.metadata().map_err(|source| self.failed(source))?.len();
        if length < self.position {
            let offset = self.position;
            self.position = 0;
            self.framer = Framer::new(0, self.cap_bytes);
            self.chunk.clear();
            self.framed = 0;
            return Ok(Step::Came(Followed::Truncated { offset }));
        }
        self.chunk.resize(CHUNK_BYTES, 0);
        self.framed = 0;
        let read = self.file.read_at(&mut self.chunk, self.position);
        self.chunk.truncate(*read.as_ref().unwrap_or(&0));
        let count = read.map_err(|source| self.failed(source))?;
        self.position += count as u64;
        Ok(if count == 0 { Step::AtEnd } else { Step::Read })
    }

    /// All that was read was framed. One who cannot punch is not asked again.
    fn give_back(&mut self) {
        if let Some(puncher) = &mut self.puncher
            && let Err(error) = puncher.unused(self.framer.kept_to(), self.position)
        {
            tracing::debug!(%error, "the disk of long lines is not given back");
            self.puncher = None;
        }
    }

    fn failed(&self, source: io::Error) -> FollowError {
        FollowError {
            path: self.path.clone(),
            source,
        }
    }
}

enum Step {
    Came(Followed),
    /// Bytes were read: step again.
    Read,
    AtEnd,
}
