//! Waits for the record to change: the embedded one is files, and the kernel says when they are written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_supervise::ChangeWatch;

/// How often the record is looked at where the kernel cannot say that it changed.
const FALLBACK: Duration = Duration::from_secs(2);

/// Tells of writes to a database file. SQLite appends them to the log beside it, which is there as long as a connection is.
#[derive(Debug)]
pub(crate) struct RecordWatch {
    watch: Option<ChangeWatch>,
}

impl RecordWatch {
    /// Begins to watch the record in a file that this process has open.
    pub(crate) fn on(file: &Path) -> Self {
        Self {
            watch: Some(ChangeWatch::on(&log_of(file))),
        }
    }

    /// Returns when something may have been written since the last call, or since the watch began. Cancel safe.
    pub(crate) async fn changed(&mut self) {
        let Some(watch) = &mut self.watch else {
            tokio::time::sleep(FALLBACK).await;
            return;
        };
        if let Err(error) = watch.changed().await {
            tracing::warn!(%error, "the record cannot be watched any more, looking at it every 2 s");
            self.watch = None;
        }
    }
}

fn log_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_write_is_told() {
        let temp = tempfile::tempdir().expect("a directory");
        let file = temp.path().join("record.db");
        std::fs::write(log_of(&file), "").expect("written");
        let mut watch = RecordWatch::on(&file);
        std::fs::write(log_of(&file), "x").expect("written");
        tokio::time::timeout(Duration::from_secs(10), watch.changed())
            .await
            .expect("told");
    }
}
