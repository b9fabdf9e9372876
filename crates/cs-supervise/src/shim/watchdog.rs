//! Counts what an execution uses, and says what is to be done about it. Pure: the time is told to it.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::limits::{LeaseEnd, Limit, Limits};

/// So much more on the clock that counts a machine's sleep means that it slept.
const SLEEP_MIN: Duration = Duration::from_secs(1);

/// One look at both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// `CLOCK_MONOTONIC`: stands still while the machine sleeps.
    pub(super) awake: Instant,
    /// `CLOCK_BOOTTIME`: goes on.
    boot: Duration,
}

impl Moment {
    pub(super) fn now() -> Self {
        let boot = clock_gettime(ClockId::Boottime);
        Self {
            awake: Instant::now(),
            boot: Duration::try_from(boot).unwrap_or_default(),
        }
    }
}

/// What is to be done about an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Stop(Limit),
    Pause,
}

/// What one execution may use and has used.
#[derive(Debug)]
pub(super) struct Watchdog {
    limits: Limits,
    /// The time worked before the present stretch.
    worked: Duration,
    /// The present stretch; `None` while paused.
    working_since: Option<Instant>,
    /// What had been worked at the last renewal.
    renewed_at: Duration,
    last: Moment,
}

impl Watchdog {
    /// An execution that begins to work now.
    pub(super) fn new(limits: Limits, now: Moment) -> Self {
        Self {
            limits,
            worked: Duration::ZERO,
            working_since: Some(now.awake),
            renewed_at: Duration::ZERO,
            last: now,
        }
    }

    /// How long it has worked: the machine awake, the execution not paused.
    pub(super) fn worked(&self, now: Instant) -> Duration {
        let stretch = self
            .working_since
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.worked.saturating_add(stretch)
    }

    pub(super) fn pause(&mut self, now: Instant) {
        self.worked = self.worked(now);
        self.working_since = None;
    }

    /// It works again, and somebody has said so.
    pub(super) fn resume(&mut self, now: Instant) {
        self.working_since.get_or_insert(now);
        self.renew(now);
    }

    /// Somebody follows it.
    pub(super) fn renew(&mut self, now: Instant) {
        self.renewed_at = self.worked(now);
    }

    /// When the next limit is reached, unless something changes; `None` when time alone reaches none.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.working_since?;
        let worked = self.worked(now);
        let lease = self.lease().map(|(_, end)| end);
        let next = [self.limits.awake, lease].into_iter().flatten().min()?;
        now.checked_add(next.saturating_sub(worked))
    }

    /// What is to be done now. `spool_bytes` is what the spools occupy.
    ///
    /// The first look after the machine slept judges nothing: who follows it has slept as well and must have had the time to
    /// say so. A limit is told on each look until something is done about it.
    pub(super) fn judge(&mut self, now: Moment, spool_bytes: u64) -> Option<Act> {
        let by_boot = now.boot.saturating_sub(self.last.boot);
        let by_awake = now.awake.saturating_duration_since(self.last.awake);
        self.last = now;
        if by_boot.saturating_sub(by_awake) >= SLEEP_MIN {
            return None;
        }
        if self.limits.spool_bytes.is_some_and(|most| spool_bytes > most) {
            return Some(Act::Stop(Limit::SpoolBytes));
        }
        self.working_since?;
        let worked = self.worked(now.awake);
        if self.limits.awake.is_some_and(|most| worked >= most) {
            return Some(Act::Stop(Limit::Awake));
        }
        let (act, end) = self.lease()?;
        (worked >= end).then_some(act)
    }

    /// What the lease's end brings, and after how much work.
    fn lease(&self) -> Option<(Act, Duration)> {
        let act = match self.limits.lease.at_end {
            LeaseEnd::Continue => return None,
            LeaseEnd::Pause => Act::Pause,
            LeaseEnd::Stop => Act::Stop(Limit::Lease),
        };
        Some((act, self.renewed_at.saturating_add(self.limits.lease.length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Lease;

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(3600);

    /// Both clocks, as a test moves them.
    struct Clocks(Moment);

    impl Clocks {
        fn new() -> Self {
            Self(Moment::now())
        }

        fn pass(&mut self, time: Duration) -> Moment {
            self.0.awake += time;
            self.0.boot += time;
            self.0
        }

        fn sleep(&mut self, time: Duration) -> Moment {
            self.0.boot += time;
            self.0
        }
    }

    fn leased(at_end: LeaseEnd) -> Limits {
        Limits {
            lease: Lease {
                length: 10 * MINUTE,
                at_end,
            },
            ..Limits::default()
        }
    }

    #[test]
    fn without_limits_nothing_is_ever_done() {
        let mut clocks = Clocks::new();
        let mut dog = Watchdog::new(Limits::default(), clocks.0);
        assert_eq!(dog.judge(clocks.pass(10_000 * HOUR), u64::MAX), None);
        assert_eq!(dog.due(clocks.0.awake), None);
    }

    #[test]
    fn eight_hours_asleep_stop_nothing_and_spend_nothing() {
        for at_end in [LeaseEnd::Continue, LeaseEnd::Pause, LeaseEnd::Stop] {
            let mut clocks = Clocks::new();
            let limits = Limits {
                awake: Some(HOUR),
                ..leased(at_end)
            };
            let mut dog = Watchdog::new(limits, clocks.0);
            assert_eq!(dog.judge(clocks.pass(9 * MINUTE), 0), None);
            assert_eq!(dog.judge(clocks.sleep(8 * HOUR), 0), None);
            assert_eq!(dog.worked(clocks.0.awake), 9 * MINUTE);
            assert_eq!(dog.judge(clocks.pass(MINUTE / 2), 0), None);
        }
    }

    #[test]
    fn the_first_look_after_a_sleep_judges_nothing_so_that_a_renewal_can_come() {
        let mut clocks = Clocks::new();
        let mut dog = Watchdog::new(leased(LeaseEnd::Stop), clocks.0);
        assert_eq!(dog.judge(clocks.pass(9 * MINUTE), 0), None);
        clocks.sleep(8 * HOUR);
        assert_eq!(dog.judge(clocks.pass(MINUTE), 0), None);
        dog.renew(clocks.0.awake);
        assert_eq!(dog.judge(clocks.pass(9 * MINUTE), 0), None);
        // Had none come, the next look would have seen it.
        assert_eq!(dog.judge(clocks.pass(MINUTE), 0), Some(Act::Stop(Limit::Lease)));
    }

    #[test]
    fn s10_paused_time_is_not_worked_time() {
        let mut clocks = Clocks::new();
        let limits = Limits {
            awake: Some(6 * MINUTE),
            ..Limits::default()
        };
        let mut dog = Watchdog::new(limits, clocks.0);
        dog.pause(clocks.pass(2 * MINUTE).awake);
        assert_eq!(dog.due(clocks.0.awake), None);
        assert_eq!(dog.judge(clocks.pass(HOUR), 0), None);
        dog.resume(clocks.0.awake);
        assert_eq!(dog.due(clocks.0.awake), Some(clocks.0.awake + 4 * MINUTE));
        assert_eq!(dog.judge(clocks.pass(3 * MINUTE), 0), None);
        assert_eq!(dog.judge(clocks.pass(MINUTE), 0), Some(Act::Stop(Limit::Awake)));
        assert_eq!(dog.worked(clocks.0.awake), 6 * MINUTE);
    }

    #[test]
    fn a_lease_that_is_renewed_does_not_end() {
        let mut clocks = Clocks::new();
        let mut dog = Watchdog::new(leased(LeaseEnd::Pause), clocks.0);
        for _ in 0..10 {
            assert_eq!(dog.judge(clocks.pass(9 * MINUTE), 0), None);
            dog.renew(clocks.0.awake);
        }
        assert_eq!(dog.due(clocks.0.awake), Some(clocks.0.awake + 10 * MINUTE));
        assert_eq!(dog.judge(clocks.pass(10 * MINUTE), 0), Some(Act::Pause));
    }

    #[test]
    fn a_lease_does_not_run_while_the_execution_is_paused_and_begins_anew_when_it_goes_on() {
        let mut clocks = Clocks::new();
        let mut dog = Watchdog::new(leased(LeaseEnd::Stop), clocks.0);
        dog.pause(clocks.pass(9 * MINUTE).awake);
        assert_eq!(dog.judge(clocks.pass(HOUR), 0), None);
        dog.resume(clocks.0.awake);
        assert_eq!(dog.judge(clocks.pass(9 * MINUTE), 0), None);
        assert_eq!(dog.judge(clocks.pass(MINUTE), 0), Some(Act::Stop(Limit::Lease)));
    }

    #[test]
    fn the_disk_counts_also_while_paused_and_its_limit_itself_may_be_reached() {
        let mut clocks = Clocks::new();
        let limits = Limits {
            spool_bytes: Some(100),
            ..Limits::default()
        };
        let mut dog = Watchdog::new(limits, clocks.0);
        assert_eq!(dog.judge(clocks.pass(MINUTE), 100), None);
        dog.pause(clocks.0.awake);
        assert_eq!(
            dog.judge(clocks.pass(MINUTE), 101),
            Some(Act::Stop(Limit::SpoolBytes))
        );
    }
}
