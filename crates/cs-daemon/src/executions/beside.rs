//! What is noted beside an execution, durably.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use cs_supervise::ExecutionDir;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes it, durably. It is there once.
pub(super) fn write(dir: &ExecutionDir, name: &str, noted: &impl Serialize) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(dir.path().join(name))?;
    file.write_all(&serde_json::to_vec(noted)?)?;
    file.sync_all()?;
    fs::File::open(dir.path())?.sync_all()
}

/// Reads it; nothing when it is not there or torn.
pub(crate) fn read<T: DeserializeOwned>(dir: &ExecutionDir, name: &str) -> Option<T> {
    let bytes = fs::read(dir.path().join(name)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Writes it in the place of what was there, durably and whole.
pub(crate) fn replace(dir: &ExecutionDir, name: &str, noted: &impl Serialize) -> io::Result<()> {
    let new = format!("{name}.new");
    let path = dir.path().join(&new);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    write(dir, &new, noted)?;
    fs::rename(path, dir.path().join(name))?;
    fs::File::open(dir.path())?.sync_all()
}
