//! Deleting a directory for good: by descriptors from its root down, so that no link is followed, no mount is crossed, and
//! nothing outside is reached even when somebody swaps a directory for a link meanwhile.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::borders::{Border, Borders};
use crate::mounts::{self, Mount};

/// Directories inside each other, at most: each holds a descriptor open.
const DEPTH_MAX: usize = 400;

const OPEN: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Deletes a directory and says whether it is gone. What is mounted inside, a directory bound there too, is found before anything
/// is deleted; where the kernel does not tell, nothing is.
pub(crate) fn delete(dir: &Path, borders: Borders) -> bool {
    remove(dir, borders)
        .inspect_err(|error| tracing::warn!(dir = %dir.display(), %error, "a directory cannot be deleted"))
        .is_ok()
}

fn remove(dir: &Path, borders: Borders) -> rustix::io::Result<()> {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(Errno::INVAL);
    };
    let name = CString::new(name.as_encoded_bytes()).map_err(|_| Errno::INVAL)?;
    let parent = rustix::fs::open(parent, OPEN, Mode::empty())?;
    let root = rustix::fs::openat(&parent, &name, OPEN, Mode::empty())?;
    let mount = mounts::look_at(&root, "")?.mount;
    if !mount.is_certain() || mount != mounts::look_at(&parent, "")?.mount {
        return Err(Errno::XDEV);
    }
    walk(&root, mount, 0, Act::Look)?;
    borders.reach(Border::DeletionBegun);
    walk(&root, mount, 0, Act::Delete(borders))?;
    rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR)
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Look,
    Delete(Borders),
}

/// Goes through everything below an open directory.
fn walk(dir: &OwnedFd, mount: Mount, depth: usize, act: Act) -> rustix::io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    let mode = rustix::fs::fstat(dir)?.st_mode;
    if mode & 0o700 != 0o700 {
        rustix::fs::fchmod(dir, Mode::from_raw_mode(mode | 0o700))?;
    }
    // The list is read whole before anything of it goes: deleting while reading skips entries on some file systems.
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_owned();
        if name.as_bytes() != b"." && name.as_bytes() != b".." {
            names.push(name);
        }
    }
    let half = names.len() / 2;
    for (at, name) in names.iter().enumerate() {
        entry(dir.as_fd(), name, mount, depth, act)?;
        if let (Act::Delete(borders), true) = (act, at == half) {
            borders.reach(Border::HalfDeleted);
        }
    }
    Ok(())
}

fn entry(dir: BorrowedFd<'_>, name: &CStr, mount: Mount, depth: usize, act: Act) -> rustix::io::Result<()> {
    let seen = mounts::look_at(dir, name)?;
    if seen.mount != mount {
        return Err(Errno::XDEV);
    }
    let is_dir = FileType::from_raw_mode(seen.mode) == FileType::Directory;
    if is_dir {
        let below = open_dir(dir, name, seen.mode)?;
        if mounts::look_at(&below, "")?.mount != mount {
            return Err(Errno::XDEV);
        }
        walk(&below, mount, depth + 1, act)?;
    }
    match act {
        Act::Look => Ok(()),
        Act::Delete(_) if is_dir => rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR),
        Act::Delete(_) => rustix::fs::unlinkat(dir, name, AtFlags::empty()),
    }
}

/// Opens a directory, also one that its owner may not read: its mode is changed through its parent then, which follows no link
/// because a link would not have been called a directory, and what is opened is checked again.
fn open_dir(dir: BorrowedFd<'_>, name: &CStr, mode: u32) -> rustix::io::Result<OwnedFd> {
    match rustix::fs::openat(dir, name, OPEN, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(dir, name, Mode::from_raw_mode(mode | 0o700), AtFlags::empty())?;
            rustix::fs::openat(dir, name, OPEN, Mode::empty())
        }
        opened => opened,
    }
}
