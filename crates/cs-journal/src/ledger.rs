//! The ledger file: events that are on the disk before the call returns.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use self::disk::Disk;
use crate::error::LedgerError;
use crate::event::Event;
use crate::frame::{self, Frames, Header, MAX_PAYLOAD_BYTES, VERSION};
use crate::state::LedgerState;

mod disk;
#[cfg(test)]
mod tests;

/// A file that is smaller is not worth a compaction.
const COMPACT_FROM_BYTES: u64 = 1 << 20;

/// Whether there was a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerOpened {
    /// There was none; an empty one was made.
    New,
    /// There was one, and its state was rebuilt.
    Existing,
}

/// The end of a ledger that could not be read: a write that was cut, or damage. It was copied aside, then cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The copy.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// How a ledger was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Whether there was one.
    pub ledger: LedgerOpened,
    /// What of it could not be read, if anything.
    pub set_aside: Option<SetAside>,
}

/// An open ledger and the state that it says. Only one process can have it open.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    disk: Box<dyn Disk>,
    /// Where the next frame begins.
    end: u64,
    compact_at: u64,
    broken: bool,
    state: LedgerState,
    /// Held for as long as the ledger is open.
    _lock: File,
}

impl Ledger {
    /// Opens the ledger at a path, or makes a new one. The directory must exist; a lock file and copies of damaged ends
    /// lie beside it, all of them readable by their owner only.
    pub(crate) fn open(path: &Path) -> Result<(Self, Opening), LedgerError> {
        let lock = lock(path)?;
        remove_leftover(&beside(path, "new"))?;
        let (disk, bytes) = match read(path)? {
            Some(found) => found,
            None => return create(path, lock, None),
        };
        match frame::read_header(&bytes) {
            Header::Ours => {}
            Header::Torn => {
                let set_aside = if bytes.is_empty() {
                    None
                } else {
                    Some(set_aside(path, &bytes)?)
                };
                return create(path, lock, set_aside);
            }
            Header::Foreign => {
                return Err(LedgerError::NotALedger {
                    path: path.to_owned(),
                });
            }
            Header::Newer(version) => {
                return Err(LedgerError::Newer {
                    path: path.to_owned(),
                    version,
                    known: VERSION,
                });
            }
        }
        let (state, intact) = replay(&bytes)?;
        let mut ledger = Self {
            path: path.to_owned(),
            disk: Box::new(disk),
            end: as_u64(intact),
            compact_at: COMPACT_FROM_BYTES,
            broken: false,
            state,
            _lock: lock,
        };
        let set_aside = ledger.cut_tail(&bytes[intact..])?;
        let opening = Opening {
            ledger: LedgerOpened::Existing,
            set_aside,
        };
        Ok((ledger, opening))
    }

    /// Returns what the ledger says.
    pub(crate) const fn state(&self) -> &LedgerState {
        &self.state
    }

    /// Writes one event and waits until it is on the disk. A refused or failed event changed neither file nor state.
    pub(crate) fn append(&mut self, event: &Event) -> Result<(), LedgerError> {
        if self.broken {
            return Err(LedgerError::Broken);
        }
        let change = self.state.decide(event)?;
        let frame = encode(event)?;
        let written = self
            .disk
            .write_at(&frame, self.end)
            .and_then(|()| self.disk.sync());
        if let Err(source) = written {
            self.roll_back();
            return Err(failed("write to", &self.path, source));
        }
        self.end += as_u64(frame.len());
        self.state.enact(change);
        Ok(())
    }

    /// Says whether the file has grown so much that a compaction is due.
    pub(crate) const fn is_compaction_due(&self) -> bool {
        self.end >= self.compact_at
    }

    /// Writes the present state as a new file in place of the old one. When it fails the old one is still in use, but
    /// for a directory that cannot be synced: then nobody knows which of the two a crash would leave.
    pub(crate) fn compact(&mut self) -> Result<(), LedgerError> {
        if self.broken {
            return Err(LedgerError::Broken);
        }
        // Whatever happens, the next attempt waits until the file has doubled.
        self.compact_at = COMPACT_FROM_BYTES.max(self.end.saturating_mul(2));
        let (disk, end) = replace(&self.path, &self.state)?;
        self.disk = Box::new(disk);
        self.end = end;
        self.compact_at = COMPACT_FROM_BYTES.max(end.saturating_mul(2));
        sync_dir(&self.path).inspect_err(|_| self.broken = true)
    }

    /// Cuts off what a failed write has left. What was written before it stays as it was.
    fn roll_back(&mut self) {
        let restored = self.disk.cut(self.end).and_then(|()| self.disk.sync());
        self.broken = restored.is_err();
    }

    /// Puts the mark of the loss in the place of what is lost. It is written before the rest is cut off, so that a crash
    /// between cannot leave a shorter ledger that looks whole.
    fn cut_tail(&mut self, tail: &[u8]) -> Result<Option<SetAside>, LedgerError> {
        if tail.is_empty() {
            return Ok(None);
        }
        let aside = set_aside(&self.path, tail)?;
        let mark = Event::TailLost { bytes: aside.bytes };
        let frame = encode(&mark)?;
        let end = self.end + as_u64(frame.len());
        let written = self.disk.write_at(&frame, self.end);
        let written = written
            .and_then(|()| self.disk.cut(end))
            .and_then(|()| self.disk.sync());
        written.map_err(|source| failed("cut", &self.path, source))?;
        self.state.apply(&mark)?;
        self.end = end;
        Ok(Some(aside))
    }
}

fn create(path: &Path, lock: File, set_aside: Option<SetAside>) -> Result<(Ledger, Opening), LedgerError> {
    let state = LedgerState::default();
    let (disk, end) = replace(path, &state)?;
    sync_dir(path)?;
    let ledger = Ledger {
        path: path.to_owned(),
        disk: Box::new(disk),
        end,
        compact_at: COMPACT_FROM_BYTES,
        broken: false,
        state,
        _lock: lock,
    };
    let opening = Opening {
        ledger: LedgerOpened::New,
        set_aside,
    };
    Ok((ledger, opening))
}

/// Writes a state to a file beside, syncs it and renames it into place. The directory is not synced yet.
fn replace(path: &Path, state: &LedgerState) -> Result<(File, u64), LedgerError> {
    let mut bytes = frame::header(VERSION).to_vec();
    for event in state.events() {
        bytes.extend(encode(&event)?);
    }
    let new = beside(path, "new");
    let written = write_synced(&new, &bytes).and_then(|file| {
        std::fs::rename(&new, path)?;
        Ok(file)
    });
    match written {
        Ok(file) => Ok((file, as_u64(bytes.len()))),
        Err(source) => {
            let refusal = failed("write", &new, source);
            remove_leftover(&new)?;
            Err(refusal)
        }
    }
}

fn lock(path: &Path) -> Result<File, LedgerError> {
    let name = beside(path, "lock");
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&name);
    let file = opened.map_err(|source| failed("open", &name, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LedgerError::Locked {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(failed("lock", &name, source)),
    }
}

fn read(path: &Path) -> Result<Option<(File, Vec<u8>)>, LedgerError> {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed("open", path, source)),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(|source| failed("read", path, source))?;
    Ok(Some((file, bytes)))
}

/// Folds the intact events of a file, and says where they end.
fn replay(bytes: &[u8]) -> Result<(LedgerState, usize), LedgerError> {
    let mut state = LedgerState::default();
    let mut frames = Frames::of(bytes);
    for (offset, payload) in frames.by_ref() {
        let offset = as_u64(offset);
        let event = decode(payload, offset)?;
        state
            .apply(&event)
            .map_err(|source| LedgerError::Contradiction { offset, source })?;
    }
    Ok((state, frames.intact()))
}

fn encode(event: &Event) -> Result<Vec<u8>, LedgerError> {
    let payload = serde_json::to_vec(event).expect("an event has text keys only and no failing serializer");
    frame::frame(&payload).ok_or(LedgerError::TooLarge {
        bytes: payload.len(),
        limit: MAX_PAYLOAD_BYTES,
    })
}

fn decode(payload: &[u8], offset: u64) -> Result<Event, LedgerError> {
    /// The part of an event that names it, whatever else it holds.
    #[derive(Deserialize)]
    struct Name {
        event: String,
    }
    serde_json::from_slice(payload).map_err(|source| LedgerError::UnknownEvent {
        version: VERSION,
        offset,
        event: serde_json::from_slice(payload).map_or_else(|_| "?".to_owned(), |name: Name| name.event),
        source,
    })
}

/// Copies bytes to the first free name beside the ledger.
fn set_aside(path: &Path, bytes: &[u8]) -> Result<SetAside, LedgerError> {
    for number in 1..u32::MAX {
        let aside = beside(path, &format!("aside-{number}"));
        if aside.exists() {
            continue;
        }
        write_synced(&aside, bytes).map_err(|source| failed("write", &aside, source))?;
        sync_dir(path)?;
        return Ok(SetAside {
            path: aside,
            bytes: as_u64(bytes.len()),
        });
    }
    Err(failed(
        "find a free name beside",
        path,
        io::ErrorKind::AlreadyExists.into(),
    ))
}

/// Makes a new file with this content and waits until it is on the disk.
fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let file = OpenOptions::new()
        .create_new(true)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.write_at(bytes, 0)?;
    file.sync_all()?;
    Ok(file)
}

fn sync_dir(path: &Path) -> Result<(), LedgerError> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|source| failed("sync", dir, source))
}

fn remove_leftover(path: &Path) -> Result<(), LedgerError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn failed(op: &'static str, path: &Path, source: io::Error) -> LedgerError {
    if matches!(
        source.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    ) {
        return LedgerError::Full(source);
    }
    let (path, kind) = (path.to_owned(), source.kind());
    if kind == io::ErrorKind::IsADirectory {
        LedgerError::IsADirectory { path }
    } else if kind == io::ErrorKind::PermissionDenied {
        LedgerError::Denied { op, path, source }
    } else {
        LedgerError::Io { op, path, source }
    }
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).expect("a length fits 64 bits on every platform that Rust has")
}
