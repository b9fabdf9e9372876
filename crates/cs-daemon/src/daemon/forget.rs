//! What the record forgets while a daemon is there.

use std::time::Duration;

use tokio::time::Instant;

use super::Daemon;
use crate::report::chain;

/// How often a daemon looks for what nobody can need any more.
const FORGET_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many rows go in one transaction, so that nobody waits long for it. The rest goes with the next pass.
const AT_ONCE: u32 = 1_000;

impl Daemon {
    /// Forgets journal rows that nobody can need any more: at the start, and once a day. Trouble with it is said and stands in
    /// nobody's way.
    pub(super) async fn forget_old(&mut self) {
        if self.forgot_at.is_some_and(|at| at.elapsed() < FORGET_EVERY) {
            return;
        }
        match self
            .cx
            .deps
            .record
            .housekeeping
            .forget_operations(AT_ONCE, false)
            .await
        {
            Ok(gone) => {
                if gone.len() < AT_ONCE as usize {
                    self.forgot_at = Some(Instant::now());
                }
                if !gone.is_empty() {
                    tracing::info!(rows = gone.len(), "old journal rows are forgotten");
                }
            }
            Err(error) => {
                self.forgot_at = Some(Instant::now());
                self.cx
                    .said(&format!("old journal rows were not forgotten: {}", chain(&error)));
            }
        }
    }
}
