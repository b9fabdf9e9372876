//! Reading what an agent may have put anywhere: a pipe or a device in the place of a file must not hold us up.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Reads a regular file of at most so many bytes.
pub(crate) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > max_bytes {
        let what = "not a regular file of the expected size";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of at most so many bytes; one that is not there is empty.
pub(crate) fn read_if_there(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Ok(_) | Err(_) => read(path, max_bytes),
    }
}

/// Whether a regular file can be opened for reading.
pub(crate) fn can_be_opened(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).is_ok()
}

/// Whether no file below a directory, nor what a link there names, is a pipe or a device, on which a reader would wait.
pub(crate) fn nothing_blocks(dir: &Path) -> bool {
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { return false };
            let named = if kind.is_symlink() {
                fs::metadata(entry.path()).map_or(kind, |meta| meta.file_type())
            } else {
                kind
            };
            if named.is_fifo() || named.is_char_device() || named.is_block_device() {
                return false;
            }
            if kind.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    true
}
