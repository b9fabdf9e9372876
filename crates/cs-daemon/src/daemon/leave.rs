//! How a daemon leaves.

use std::sync::PoisonError;
use std::time::Duration;

use super::{Daemon, LEAVE_LIMIT};

/// How long a base that is being moved may take until that is left to the next daemon.
const MOVE_LIMIT: Duration = Duration::from_secs(60);

impl Daemon {
    pub(super) async fn end(&mut self) {
        let told = tokio::time::timeout(LEAVE_LIMIT, self.presence.end(&self.cx)).await;
        tracing::debug!(?told, "left the record");
        // Nobody may be in the middle of a write to the ledger when the lock of the directory goes.
        self.tasks.shutdown().await;
        let mut moves = std::mem::take(&mut *self.cx.moves.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while moves.join_next().await.is_some() {} };
        if tokio::time::timeout(MOVE_LIMIT, all).await.is_err() {
            self.cx.said("a base is still being moved: its index stays locked until `cs-panel run` takes that up; leave `index.lock` there");
        }
        self.sweep.shutdown().await;
        self.keeping.shutdown().await;
        self.clearing.shutdown().await;
        self.publications.shutdown().await;
    }
}
