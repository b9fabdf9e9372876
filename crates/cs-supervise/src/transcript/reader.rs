//! Reading a transcript, also while it is being written.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{Line, TranscriptError};
use crate::change::ChangeWatch;

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptLine<E> {
    /// Its place, from 0.
    pub index: u64,
    /// What it says.
    pub event: E,
}

/// Reads whole appends of a transcript, from its beginning.
#[derive(Debug)]
pub struct TranscriptReader<E> {
    path: PathBuf,
    file: BufReader<File>,
    watch: ChangeWatch,
    /// Where the next append begins. What lies beyond is read anew each time: it may be cut off and written again.
    position: u64,
    index: u64,
    ready: VecDeque<TranscriptLine<E>>,
    event: PhantomData<fn() -> E>,
}

impl<E: DeserializeOwned> TranscriptReader<E> {
    /// Opens a transcript. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// It is not there or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, TranscriptError> {
        let file = File::open(path).map_err(|source| TranscriptError::Io {
            op: "open",
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file: BufReader::new(file),
            watch: ChangeWatch::on(path),
            position: 0,
            index: 0,
            ready: VecDeque::new(),
            event: PhantomData,
        })
    }

    /// The next line that is there already; `None` at the end, which may move.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no `E`.
    pub fn next_ready(&mut self) -> Result<Option<TranscriptLine<E>>, TranscriptError> {
        if self.ready.is_empty() {
            self.read_append()?;
        }
        Ok(self.ready.pop_front())
    }

    /// Waits for the next line. Cancel safe.
    ///
    /// # Errors
    /// As [`next_ready`](Self::next_ready).
    pub async fn next(&mut self) -> Result<TranscriptLine<E>, TranscriptError> {
        loop {
            if let Some(line) = self.next_ready()? {
                return Ok(line);
            }
            self.watch.changed().await.map_err(|source| TranscriptError::Io {
                op: "watch",
                path: self.path.clone(),
                source,
            })?;
        }
    }

    /// Reads one append, when it is whole.
    fn read_append(&mut self) -> Result<(), TranscriptError> {
        let failed = |source| TranscriptError::Io {
            op: "read",
            path: self.path.clone(),
            source,
        };
        self.file.seek(SeekFrom::Start(self.position)).map_err(failed)?;
        let mut append = VecDeque::new();
        let (mut end, mut line) = (self.position, Vec::new());
        loop {
            line.clear();
            end += self.file.read_until(b'\n', &mut line).map_err(failed)? as u64;
            if !line.ends_with(b"\n") {
                return Ok(());
            }
            let parsed: Line<E> = serde_json::from_slice(&line).map_err(|source| TranscriptError::Event {
                path: self.path.clone(),
                source,
            })?;
            append.push_back(TranscriptLine {
                index: self.index + append.len() as u64,
                event: parsed.event,
            });
            if parsed.reached.is_some() {
                self.index += append.len() as u64;
                self.position = end;
                self.ready = append;
                return Ok(());
            }
        }
    }
}
