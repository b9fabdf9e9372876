//! Passes that failed in a row: what is said of them, and how long the next one waits.

use std::time::Duration;

use tokio::time::Instant;

use super::{Daemon, DaemonError};
use crate::report::chain;

/// The longest wait between two passes while they fail.
const REST_MAX: Duration = Duration::from_secs(30);
/// After how long it is said again that it is still so.
const SAY_AGAIN: Duration = Duration::from_secs(600);

/// The passes that failed since the last whole one.
#[derive(Debug, Default)]
pub(super) struct Failing(Option<Row>);

#[derive(Debug)]
struct Row {
    passes: u32,
    said: String,
    said_at: Instant,
}

impl Failing {
    /// Notes a pass that failed. Says whether it is to be said: it is new, another one, or long ago that it was.
    pub(super) fn add(&mut self, why: &str) -> bool {
        let now = Instant::now();
        let passes = self.0.as_ref().map_or(0, |row| row.passes).saturating_add(1);
        match &mut self.0 {
            Some(row) if row.said == why && now - row.said_at < SAY_AGAIN => {
                row.passes = passes;
                false
            }
            row => {
                *row = Some(Row {
                    passes,
                    said: why.to_owned(),
                    said_at: now,
                });
                true
            }
        }
    }

    /// Notes a whole pass. Says whether any had failed before it.
    pub(super) fn is_over(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// How long the next pass waits by itself: the usual interval, doubled with each that fails, up to half a minute or the
    /// interval if that is longer. Nothing when the last one was whole.
    pub(super) fn rest(&self, interval: Duration) -> Option<Duration> {
        let row = self.0.as_ref()?;
        let rest = interval.saturating_mul(1 << (row.passes - 1).min(16));
        Some(rest.min(REST_MAX.max(interval)))
    }
}

impl Daemon {
    /// Takes in that a pass was whole.
    pub(super) fn passed(&mut self) {
        if self.failing.is_over() {
            self.cx.said("the record can be used again");
        }
        self.answer_waiters();
    }

    /// Says why a pass failed, once as long as it is the same, and keeps hold of what runs.
    pub(super) async fn pass_failed(&mut self, error: &DaemonError) {
        // What was due then is not known to be due now.
        self.next_due = None;
        let why = chain(error);
        if self.failing.add(&why) {
            tracing::error!(error = error as &dyn std::error::Error, "a pass failed");
            self.cx.said(&format!(
                "poll_failed: {why}; agents go on, nothing new starts, and it is tried again"
            ));
        }
        self.note_failed_pass(&why);
        self.take_in_hand().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn each_wait_is_longer_up_to_the_longest_and_a_whole_pass_ends_them() {
        let mut failing = Failing::default();
        let mut rests = vec![failing.rest(INTERVAL)];
        for _ in 0..6 {
            failing.add("away");
            rests.push(failing.rest(INTERVAL));
        }
        let seconds: Vec<_> = rests.iter().map(|rest| rest.map(|rest| rest.as_secs())).collect();
        assert_eq!(
            seconds,
            [None, Some(2), Some(4), Some(8), Some(16), Some(30), Some(30)]
        );
        assert_eq!(failing.rest(REST_MAX * 2), Some(REST_MAX * 2));
        assert!(failing.is_over() && !failing.is_over());
        assert_eq!(failing.rest(INTERVAL), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_is_said_once_and_again_after_long() {
        let mut failing = Failing::default();
        assert_eq!(
            ["away", "away", "older", "older"].map(|why| failing.add(why)),
            [true, false, true, false]
        );
        tokio::time::advance(SAY_AGAIN).await;
        assert!(failing.add("older"));
    }
}
