//! Small files that two commands may change at once: a lock on their directory, and replacement as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cs_worktree::plain;

use crate::failure::Failure;

/// The largest of these files that is read.
const READ_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A lock on a directory against other commands of ours; it goes when this is dropped, or with the process.
#[derive(Debug)]
pub(crate) struct DirLock {
    _dir: File,
}

/// Waits for the lock of a directory. It is held for the time of reading and replacing one small file.
///
/// # Errors
/// The directory cannot be opened, or its file system has no locks.
pub(crate) fn lock_dir(dir: &Path) -> Result<DirLock, Failure> {
    let what = || format!("the directory {} cannot be locked", dir.display());
    let file = File::open(dir).map_err(|error| Failure::failed(error, what()))?;
    file.lock().map_err(|error| Failure::failed(error, what()))?;
    Ok(DirLock { _dir: file })
}

/// Reads a file that may not be there.
///
/// # Errors
/// It is there and cannot be read, or is no plain file: nothing is waited for.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match plain::read(path, READ_MAX_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(None),
            io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Err(
                Failure::Usage(format!("{} cannot be read: {error}", path.display())),
            ),
            _ => Err(Failure::failed(
                error,
                format!("{} cannot be read", path.display()),
            )),
        },
    }
}

/// Replaces a file as a whole: a reader sees the old or the new content, also after a loss of power. A new file is 0600; one
/// that is there keeps its mode, and a link to it stays a link.
///
/// # Errors
/// The new content could not be written; the old is untouched.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), Failure> {
    write_anew(path, content)
        .map_err(|error| Failure::failed(error, format!("{} cannot be written", path.display())))
}

fn write_anew(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&target).map_or(0o600, |meta| meta.permissions().mode() & 0o777);
    let fresh = fresh_name(&target);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(content)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&fresh, &target)?;
    match target.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// The name of the content that is not in place yet. The lock of the directory is held, so there is one writer.
fn fresh_name(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    target.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_keeps_its_mode_and_its_link() {
        let temp = tempfile::tempdir().expect("a directory");
        let (file, link) = (temp.path().join("file"), temp.path().join("link"));
        replace(&file, b"one").expect("made");
        assert_eq!(
            fs::metadata(&file).expect("there").permissions().mode() & 0o777,
            0o600
        );
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        replace(&link, b"two").expect("replaced");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"two");
        assert_eq!(
            fs::metadata(&file).expect("there").permissions().mode() & 0o777,
            0o640
        );
    }

    #[test]
    fn a_missing_file_is_nothing() {
        let temp = tempfile::tempdir().expect("a directory");
        assert!(
            read_if_there(&temp.path().join("no"))
                .expect("no error")
                .is_none()
        );
        assert!(read_if_there(temp.path()).is_err(), "a directory is no file");
    }
}
