//! The one file with `unsafe`: calls whose contract the compiler cannot check, each wrapped so that callers cannot
//! break it.
#![expect(unsafe_code, reason = "the only place; each block says why it is sound")]

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the reactor of the running tokio runtime, to await that it becomes readable.
pub(crate) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same descriptor for as long as the `AsyncFd` owns it: nothing
    // outside can take or close it.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(io::Error::from)
}
