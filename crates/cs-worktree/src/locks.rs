//! One writer at a time per codebase, among the tasks of this process and among processes.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::error::WorktreeError;
use crate::keys::CodebaseKey;

/// How often another process's lock is tried, and how long we wait in between: 60 s in all.
const TRIES: u32 = 1200;
const WAIT: Duration = Duration::from_millis(50);

/// The locks of all codebases.
#[derive(Debug, Default)]
pub(crate) struct CodebaseLocks {
    queues: Mutex<BTreeMap<CodebaseKey, Arc<AsyncMutex<()>>>>,
}

/// A held lock. Its end, or the end of the process, releases it.
#[derive(Debug)]
pub(crate) struct CodebaseLock {
    _file: File,
    _queue: OwnedMutexGuard<()>,
}

impl CodebaseLocks {
    /// Waits for the codebase: without a limit for tasks of this process (each of which is bounded), at most 60 s for
    /// another process.
    pub(crate) async fn take(&self, key: &CodebaseKey, dir: &Path) -> Result<CodebaseLock, WorktreeError> {
        let queue = {
            let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(queues.entry(key.clone()).or_default())
        };
        let queue = queue.lock_owned().await;
        std::fs::create_dir_all(dir).map_err(WorktreeError::io("make", dir))?;
        let path = dir.join("lock");
        let open = || {
            File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
        };
        let file = open().map_err(WorktreeError::io("open", &path))?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => {
                    return Ok(CodebaseLock {
                        _file: file,
                        _queue: queue,
                    });
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(WAIT).await,
                Err(TryLockError::Error(source)) => return Err(WorktreeError::io("lock", &path)(source)),
            }
        }
        Err(WorktreeError::CodebaseBusy)
    }
}
