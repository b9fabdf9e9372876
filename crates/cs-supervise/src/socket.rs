//! Unix sockets at paths of any length, for one user.
//!
//! A socket's address holds at most 107 bytes. The directory is opened first and the socket is named through its
//! descriptor, so that the length of the directory's path does not matter.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

/// Connects to the socket at a path.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] when there is none, [`io::ErrorKind::ConnectionRefused`] when nobody listens,
/// [`io::ErrorKind::PermissionDenied`] when another user does.
pub async fn connect(path: &Path) -> io::Result<UnixStream> {
    let (_dir, short) = shorten(path)?;
    let stream = UnixStream::connect(short).await?;
    if peer_is_this_user(&stream)? {
        return Ok(stream);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "another user answers at the socket",
    ))
}

/// Listens at a path, for this user only (0600). A socket that a dead process left there is replaced, so the caller must
/// hold a lock that says that no live one has it. Anything else at that place is left alone.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when something else than a socket is there; otherwise the system's.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "something else is in the socket's place",
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let (_dir, short) = shorten(path)?;
    let listener = UnixListener::bind(short)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Says whether the process at the other end belongs to this user.
///
/// # Errors
/// The system does not tell.
pub fn peer_is_this_user(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}

/// Names a path through a descriptor of its directory; the name is good while the descriptor is open.
pub(crate) fn shorten(path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let dir = path
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    let handle = rustix::fs::open(
        dir,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd())).join(name);
    Ok((handle, short))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_socket_deep_in_the_file_system_is_reached() {
        let temp = tempfile::tempdir().expect("a directory");
        let deep = temp.path().join("d".repeat(200));
        fs::create_dir(&deep).expect("made");
        let path = deep.join("sock");
        let listener = listen(&path).expect("it can be bound");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (client, accepted) = tokio::join!(connect(&path), listener.accept());
        let (mut client, (mut server, _)) = (client.expect("connected"), accepted.expect("accepted"));
        assert!(peer_is_this_user(&server).expect("known"));
        client.write_all(b"x").await.expect("sent");
        assert_eq!(server.read_u8().await.expect("received"), b'x');
    }

    #[tokio::test]
    async fn a_dead_socket_is_replaced_and_a_file_is_not() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = temp.path().join("sock");
        assert_eq!(
            connect(&path).await.expect_err("nothing there").kind(),
            io::ErrorKind::NotFound
        );
        drop(listen(&path).expect("bound"));
        assert_eq!(
            connect(&path).await.expect_err("nobody listens").kind(),
            io::ErrorKind::ConnectionRefused
        );
        drop(listen(&path).expect("bound again"));
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "mine").expect("written");
        assert_eq!(
            listen(&path).expect_err("a file").kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_to_string(&path).expect("kept"), "mine");
    }
}
