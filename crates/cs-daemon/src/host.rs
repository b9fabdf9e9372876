//! What the daemon asks of the machine itself.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use cs_harness::AgentConfig;
use cs_supervise::{BootId, Noted, UntracedEnd, end_untraced};

use crate::probe::{PROBE_LIMIT, Probed, probe};

/// The machine under a daemon.
#[async_trait]
pub trait Host: fmt::Debug + Send + Sync {
    /// Names the running boot of the machine: another one after each start of it.
    ///
    /// # Errors
    /// The machine does not tell.
    fn boot_id(&self) -> io::Result<String>;

    /// Returns how many bytes are free for the state directory.
    ///
    /// # Errors
    /// The machine does not tell.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Returns how many more files the disk of the state directory can hold.
    ///
    /// # Errors
    /// The machine does not tell.
    fn free_files(&self) -> io::Result<u64>;

    /// Returns how many more descriptors this process may open.
    ///
    /// # Errors
    /// The machine does not tell.
    fn free_descriptors(&self) -> io::Result<u64>;

    /// Ends what still runs of an execution whose directory is gone, by what was noted of it.
    ///
    /// # Errors
    /// The machine does not tell what runs.
    async fn end_untraced(&self, noted: Noted) -> io::Result<UntracedEnd>;

    /// Looks at the program of an agent, without giving it work: as it would be started, with this environment. It takes a few
    /// seconds at most, and nothing of it stays. `mark` is a word that no other look has had.
    async fn probe(&self, agent: &AgentConfig, env: &[(OsString, OsString)], mark: &str) -> Probed;
}

/// The machine that this program runs on.
#[derive(Debug, Clone)]
pub struct ThisHost {
    state: PathBuf,
    probe_limit: Duration,
}

impl ThisHost {
    /// Looks at the disk under this state directory.
    #[must_use]
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self {
            state: state.into(),
            probe_limit: PROBE_LIMIT,
        }
    }

    /// Waits so long for each answer of an agent program, in place of [`PROBE_LIMIT`].
    #[must_use]
    pub fn answered_within(self, probe_limit: Duration) -> Self {
        Self { probe_limit, ..self }
    }
}

#[async_trait]
impl Host for ThisHost {
    fn boot_id(&self) -> io::Result<String> {
        Ok(BootId::current()?.as_str().to_owned())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(&self.state)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn free_files(&self) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(&self.state)?;
        // A file system that makes room for files as it goes counts none.
        Ok(if disk.f_files == 0 {
            u64::MAX
        } else {
            disk.f_favail
        })
    }

    fn free_descriptors(&self) -> io::Result<u64> {
        cs_supervise::free_descriptors()
    }

    async fn end_untraced(&self, noted: Noted) -> io::Result<UntracedEnd> {
        end_untraced(noted).await
    }

    async fn probe(&self, agent: &AgentConfig, env: &[(OsString, OsString)], mark: &str) -> Probed {
        probe(agent, env, (mark, self.probe_limit)).await
    }
}
