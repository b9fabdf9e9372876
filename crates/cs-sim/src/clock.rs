//! Clocks that follow simulated time.

use std::time::Duration;

use cs_model::{Clock, Time};
use tokio::time::Instant;

/// Where every simulation begins: 2026-01-01 00:00 UTC, in microseconds.
const BEGIN_MICROS: i64 = 1_767_225_600_000_000;

/// A wall clock that shows simulated time, and is so much ahead of the others. Only within a runtime whose time is paused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimClock {
    began: Instant,
    ahead: Duration,
}

impl SimClock {
    pub(crate) fn new(ahead: Duration) -> Self {
        Self {
            began: Instant::now(),
            ahead,
        }
    }

    /// Returns how long the simulation has gone on.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Time {
        let span = (self.elapsed() + self.ahead).as_micros();
        Time::from_unix_micros(BEGIN_MICROS + i64::try_from(span).unwrap_or(i64::MAX / 2))
    }
}
