//! Reading what somebody else may have put anywhere: a pipe or a device in the place of a file must not hold us up.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Something else stands where a file is expected.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}; put a plain file, or a link to one, in its place")]
struct NotPlain(&'static str);

/// Opens a plain file for reading, or the one that a link leads to.
///
/// # Errors
/// It cannot be opened, or is something else; then the kind is `IsADirectory` or `InvalidInput`, and the text says what and the cure.
pub fn open(path: &Path) -> io::Result<File> {
    check(&fs::metadata(path)?)?;
    open_as(path, OFlags::empty())
}

/// As [`open`], where a link that stands at the path itself is refused as well.
///
/// # Errors
/// As [`open`].
pub fn open_itself(path: &Path) -> io::Result<File> {
    check(&fs::symlink_metadata(path)?)?;
    open_as(path, OFlags::NOFOLLOW)
}

/// Reads a plain file of at most so many bytes, or the one that a link leads to.
///
/// # Errors
/// As [`open`], and where it is larger.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if file.metadata()?.len() > max_bytes {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it has more than the {max_bytes} bytes that are read of it"),
        ));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a plain file of at most so many bytes; one that is not there is empty.
pub(crate) fn read_if_there(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Ok(_) | Err(_) => read(path, max_bytes),
    }
}

/// Looked at before it is opened, since opening a device may do something, and after, since it may be another one by then.
fn open_as(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(found: &fs::Metadata) -> io::Result<()> {
    let kind = found.file_type();
    // The usual word for an empty file, and nobody waits for it.
    let is_null = kind.is_char_device() && found.rdev() == rustix::fs::makedev(1, 3);
    let what = if kind.is_file() || is_null {
        return Ok(());
    } else if kind.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            NotPlain("a directory"),
        ));
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a link"
    } else {
        "a device"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, NotPlain(what)))
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_a_plain_file_is_opened_and_what_else_is_there_is_named_at_once() {
        let temp = tempfile::tempdir().expect("a directory");
        let at = |name: &str| temp.path().join(name);
        fs::write(at("file"), "words").expect("written");
        fs::create_dir(at("folder")).expect("made");
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RUSR).expect("made");
        let _socket = UnixListener::bind(at("socket")).expect("bound");
        for (link, to) in [
            ("to-file", "file"),
            ("to-pipe", "pipe"),
            ("to-device", "/dev/zero"),
        ] {
            symlink(to, at(link)).expect("linked");
        }
        assert!(read(Path::new("/dev/null"), 5).expect("it is empty").is_empty());
        for name in ["file", "to-file"] {
            assert_eq!(read(&at(name), 5).expect("it is plain"), b"words", "{name}");
        }
        for (name, told) in [
            ("folder", "it is a directory; put a plain file"),
            ("pipe", "it is a named pipe; put a plain file"),
            ("to-pipe", "it is a named pipe; put a plain file"),
            ("socket", "it is a socket; put a plain file"),
            ("to-device", "it is a device; put a plain file"),
        ] {
            let said = open(&at(name)).expect_err(name).to_string();
            assert!(said.starts_with(told), "{name}: {said}");
        }
        let error = open_itself(&at("to-file")).expect_err("a link");
        assert!(error.to_string().starts_with("it is a link;"), "{error}");
        assert!(open_itself(&at("file")).is_ok());
        let error = read(&at("file"), 4).expect_err("too large");
        assert!(error.to_string().contains("more than the 4 bytes"), "{error}");
    }
}
