//! Waiting until a file has changed.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::unix::AsyncFd;

use crate::sys;

/// The file is looked at this often even when no change was told: some file systems tell none.
const WATCHED_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is looked at when the kernel has no watch left for us.
const UNWATCHED_INTERVAL: Duration = Duration::from_millis(200);

/// Tells that a file may have changed: at once where the kernel tells of writes, else every 200 ms; and every second in any
/// case, since some file systems tell of none.
#[derive(Debug)]
pub struct ChangeWatch {
    inotify: Option<AsyncFd<OwnedFd>>,
}

impl ChangeWatch {
    /// Begins to watch a file, which should be there. Must be called within a tokio runtime.
    #[must_use]
    pub fn on(path: &Path) -> Self {
        let inotify = watch(path)
            .inspect_err(|error| tracing::debug!(%error, "no change watch: falling back to an interval"))
            .ok();
        Self { inotify }
    }

    /// Returns when the file may have changed since the last call, or since the watch was made. Cancel safe.
    ///
    /// # Errors
    /// The kernel's watch cannot be read any more.
    pub async fn changed(&mut self) -> io::Result<()> {
        let Some(inotify) = &self.inotify else {
            tokio::time::sleep(UNWATCHED_INTERVAL).await;
            return Ok(());
        };
        match tokio::time::timeout(WATCHED_INTERVAL, inotify.readable()).await {
            Err(_) => Ok(()),
            Ok(ready) => {
                let mut ready = ready?;
                drain(inotify.get_ref())?;
                ready.clear_ready();
                Ok(())
            }
        }
    }
}

fn watch(path: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    add_watch(&inotify, path, WatchFlags::MODIFY)?;
    sys::watch(inotify)
}

/// Which events there were does not matter: there is one file.
fn drain(inotify: &OwnedFd) -> io::Result<()> {
    let mut events = [0_u8; 4096];
    loop {
        match rustix::io::read(inotify, &mut events) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
