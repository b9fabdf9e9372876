//! What the system may be short of.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Says whether an error number of the system means that it is short of something that it may have again.
#[must_use]
pub fn is_shortage(errno: i32) -> bool {
    let shortages = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::AGAIN,
        Errno::NOSPC,
        Errno::DQUOT,
    ];
    shortages.iter().any(|shortage| shortage.raw_os_error() == errno)
}

/// Returns how many more descriptors this process may open.
///
/// # Errors
/// `/proc` does not tell which are open.
pub fn free_descriptors() -> io::Result<u64> {
    let Some(most) = getrlimit(Resource::Nofile).current else {
        return Ok(u64::MAX);
    };
    match fs::read_dir("/proc/self/fd") {
        Ok(open) => Ok(most.saturating_sub(open.count() as u64)),
        // There is not even one to look with.
        Err(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => Ok(0),
        Err(error) => Err(error),
    }
}
