//! The times that go into files: a shim has nobody to ask for them.

use rustix::time::{ClockId, clock_gettime};

/// The wall clock, in microseconds since 1970, UTC.
pub(crate) fn unix_micros() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec
        .saturating_mul(1_000_000)
        .saturating_add(now.tv_nsec / 1_000)
}
