//! A file of its own for each test, in memory where the system has such a place: deleting files on a disk is slow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cs_sqlite::{OpenError, SqliteStore};
use cs_testkit::SetClock;
use tempfile::TempDir;

/// A directory that goes with the test.
#[derive(Debug)]
pub(crate) struct Home {
    directory: TempDir,
    clock: Arc<SetClock>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let shared = Path::new("/dev/shm");
        let directory = if shared.is_dir() {
            TempDir::new_in(shared)
        } else {
            TempDir::new()
        };
        Self {
            directory: directory.expect("a temporary directory can be made"),
            clock: Arc::new(SetClock::new()),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn clock(&self) -> Arc<SetClock> {
        Arc::clone(&self.clock)
    }

    pub(crate) async fn open(&self) -> Result<SqliteStore, OpenError> {
        self.open_at(&self.path("record.db")).await
    }

    pub(crate) async fn open_at(&self, path: &Path) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(path, self.clock()).await
    }
}
