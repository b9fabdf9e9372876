//! What is forgotten while a daemon is there: by the record, and on this machine.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Daemon;
use crate::context::Context;
use crate::landing::landing_of;
use crate::leftovers::LeftoversError;
use crate::report::chain;
use crate::trees::TreeError;

/// How often a daemon looks for what nobody can need any more.
const FORGET_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many rows go in one transaction, so that nobody waits long for it. The rest goes with the next pass.
const AT_ONCE: u32 = 1_000;

impl Daemon {
    /// Forgets what nobody can need any more: at the start, and once a day. Trouble with it is said and stands in nobody's way.
    pub(super) async fn forget_old(&mut self) {
        if self.forgot_at.is_some_and(|at| at.elapsed() < FORGET_EVERY) {
            return;
        }
        if self.forgot_at.is_some() {
            self.sweep.ask();
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
        self.remove_leftovers();
        self.remove_throwaways();
    }

    /// Removes the clones of verifies that are over. Nobody waits for it; what is not removed goes with the next one.
    pub(super) fn remove_throwaways(&mut self) {
        while self.clearing.try_join_next().is_some() {}
        if self.clearing.is_empty() {
            let cx = Arc::clone(&self.cx);
            self.clearing.spawn(async move { remove_throwaways(&cx).await });
        }
    }

    /// Deleting is slow where files are: no pass waits for it, and a daemon that ends leaves the rest to the next one.
    fn remove_leftovers(&mut self) {
        while self.keeping.try_join_next().is_some() {}
        if self.keeping.is_empty() {
            let cx = Arc::clone(&self.cx);
            self.keeping.spawn(async move { remove_leftovers(&cx).await });
        }
    }
}

async fn remove_throwaways(cx: &Context) {
    let removal = async {
        for clone in cx.deps.landings.throwaways().await? {
            // A clone is made only while its landing is in the ledger; one that no landing has the name of is none of ours.
            let is_over = landing_of(&clone).is_some_and(|landing| !cx.journal.holds_landing(landing));
            if is_over {
                cx.deps.landings.remove_throwaway(&clone).await?;
            }
        }
        Ok(())
    };
    let removed: Result<(), TreeError> = removal.await;
    if let Err(error) = removed {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "clones of verifies stay for now"
        );
    }
}

async fn remove_leftovers(cx: &Context) {
    let now = cx.deps.clock.now();
    let removal = async {
        let found = cx.deps.leftovers.find(now).await?;
        cx.deps.leftovers.remove(&found, now).await
    };
    let removed: Result<_, LeftoversError> = removal.await;
    match removed {
        Ok(removed) => {
            tracing::info!(?removed, "what nobody can need any more is gone");
            for kept in &removed.kept {
                cx.said(&format!("not removed: {kept}"));
            }
        }
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "leftovers stay");
            cx.said(&format!(
                "what is left of old cards was not removed: {}",
                chain(&error)
            ));
        }
    }
}
