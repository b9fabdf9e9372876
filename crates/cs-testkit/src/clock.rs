//! A clock that tests set.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use cs_model::{Clock, Time};

/// A clock that stands still until it is set.
#[derive(Debug)]
pub struct SetClock(AtomicI64);

impl SetClock {
    /// Makes a clock that shows 2026-01-01 00:00 UTC.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicI64::new(1_767_225_600_000_000))
    }

    /// Sets it forward.
    pub fn advance(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets it to a time.
    pub fn set(&self, time: Time) {
        self.0.store(time.unix_micros(), Ordering::SeqCst);
    }
}

impl Default for SetClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SetClock {
    fn now(&self) -> Time {
        Time::from_unix_micros(self.0.load(Ordering::SeqCst))
    }
}
