//! Which mount a file lies on. The device alone does not tell: a directory that is bound to a second place has the same one.

use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use rustix::path::Arg;

/// What of a file is looked at, without following a link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) mode: u32,
    pub(crate) mount: Mount,
}

/// A mount. Two files on one mount have equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mount {
    device: (u32, u32),
    /// `None` where the kernel does not tell.
    id: Option<u64>,
}

impl Mount {
    /// Whether the kernel tells a mount from another one of the same file system.
    pub(crate) const fn is_certain(self) -> bool {
        self.id.is_some()
    }
}

/// Looks at a file; an empty name is the open directory itself.
#[cfg(target_os = "linux")]
pub(crate) fn look_at(dir: impl AsFd, name: impl Arg) -> rustix::io::Result<Seen> {
    use rustix::fs::StatxFlags;

    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    let wanted = StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::MNT_ID;
    let seen = rustix::fs::statx(dir, name, flags, wanted)?;
    let tells = seen.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok(Seen {
        mode: u32::from(seen.stx_mode),
        mount: Mount {
            device: (seen.stx_dev_major, seen.stx_dev_minor),
            id: tells.then_some(seen.stx_mnt_id),
        },
    })
}

/// Looks at a file; an empty name is the open directory itself. A directory cannot be bound to a second place here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn look_at(dir: impl AsFd, name: impl Arg) -> rustix::io::Result<Seen> {
    let is_dir = name.to_string_lossy().is_empty();
    let stat = if is_dir {
        rustix::fs::fstat(dir)?
    } else {
        rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?
    };
    let device = stat.st_dev as u64;
    Ok(Seen {
        mode: u32::from(stat.st_mode),
        mount: Mount {
            device: ((device >> 32) as u32, device as u32),
            id: Some(0),
        },
    })
}
