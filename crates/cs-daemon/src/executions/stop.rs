//! Whether an attempt is to end, and how urgently.

use std::future;

use tokio::sync::watch;

/// How urgently an attempt is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// It goes on.
    No,
    /// By the ladder, after a grace: it has said through its tools what it wanted of people, and is to end its turn.
    WhenDone,
    /// By the ladder, so that its next attempt goes on with what a person has said since (OW-14). One that has not had its prompt is not
    /// given it.
    Redirect,
    /// By the ladder.
    Ladder,
    /// At once.
    Force,
}

/// The switch that ends one attempt. Whoever has a clone may raise it; it is never lowered.
#[derive(Debug, Clone)]
pub struct StopSwitch(watch::Sender<StopLevel>);

impl StopSwitch {
    /// Makes a switch that asks for nothing.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(StopLevel::No))
    }

    /// Asks for at least this.
    pub fn raise(&self, level: StopLevel) {
        self.0.send_if_modified(|now| {
            let raised = level > *now;
            *now = level.max(*now);
            raised
        });
    }

    /// Says whether somebody has asked for at least this.
    #[must_use]
    pub fn is_asked(&self, level: StopLevel) -> bool {
        *self.0.borrow() >= level
    }

    /// Waits until somebody asks for at least this. Cancel safe.
    pub async fn asked(&self, level: StopLevel) {
        let mut level_now = self.0.subscribe();
        if level_now.wait_for(|now| *now >= level).await.is_err() {
            // The sender is in `self`, so this cannot be; nobody asked.
            future::pending::<()>().await;
        }
    }
}

impl Default for StopSwitch {
    fn default() -> Self {
        Self::new()
    }
}
