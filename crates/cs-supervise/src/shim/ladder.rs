//! The steps of a stop: interrupt, terminate, force. Pure; the loop carries them out.

use std::time::{Duration, Instant};

/// Between two rounds of killing what does not die.
const FORCE_INTERVAL: Duration = Duration::from_millis(50);
/// An agent that is not dead so long after it was killed cannot be killed by us.
const FORCE_LIMIT: Duration = Duration::from_secs(20);

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// SIGINT to the agent.
    Interrupt,
    /// SIGTERM, then SIGCONT, to the whole tree.
    Terminate,
    /// Stop, walk and kill the whole tree.
    Force,
    /// Go on to the close: the agent cannot be killed.
    GiveUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Interrupt,
    Terminate,
    Force { until: Instant },
}

/// A stop under way. It ends when the agent does.
#[derive(Debug)]
pub(crate) struct Ladder {
    next: Step,
    due: Instant,
    interrupt_grace: Duration,
    terminate_grace: Duration,
}

impl Ladder {
    /// A stop that begins now.
    pub(crate) fn new(now: Instant, interrupt_grace: Duration, terminate_grace: Duration) -> Self {
        Self {
            next: Step::Interrupt,
            due: now,
            interrupt_grace,
            terminate_grace,
        }
    }

    /// Leaves the graces out from now on: somebody has asked again.
    pub(crate) fn force(&mut self, now: Instant) {
        (self.interrupt_grace, self.terminate_grace) = (Duration::ZERO, Duration::ZERO);
        if !matches!(self.next, Step::Force { .. }) || self.due > now + FORCE_INTERVAL {
            self.next = Step::Force {
                until: now + FORCE_LIMIT,
            };
            self.due = now;
        }
    }

    /// How long what the agent leaves behind may live on: no longer than the agent itself might have.
    pub(crate) fn leftover_grace(&self) -> Duration {
        self.interrupt_grace.saturating_add(self.terminate_grace)
    }

    /// When the next step is due, if the agent has not ended by then.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// The step that is due, if one is. A step without a grace is left out.
    pub(crate) fn advance(&mut self, now: Instant) -> Option<Act> {
        if now < self.due {
            return None;
        }
        if self.next == Step::Interrupt {
            self.next = Step::Terminate;
            if !self.interrupt_grace.is_zero() {
                self.due = later(now, self.interrupt_grace);
                return Some(Act::Interrupt);
            }
        }
        if self.next == Step::Terminate {
            self.next = Step::Force {
                until: later(now, self.terminate_grace) + FORCE_LIMIT,
            };
            if !self.terminate_grace.is_zero() {
                self.due = later(now, self.terminate_grace);
                return Some(Act::Terminate);
            }
        }
        self.due = now + FORCE_INTERVAL;
        match self.next {
            Step::Force { until } if now >= until => Some(Act::GiveUp),
            Step::Force { .. } | Step::Interrupt | Step::Terminate => Some(Act::Force),
        }
    }
}

/// A grace beyond what a clock can hold is a century.
fn later(now: Instant, grace: Duration) -> Instant {
    now + grace.min(Duration::from_secs(100 * 365 * 24 * 3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_step_comes_after_the_grace_of_the_one_before() {
        let now = Instant::now();
        let mut ladder = Ladder::new(now, SECOND, 2 * SECOND);
        assert_eq!(ladder.advance(now), Some(Act::Interrupt));
        assert_eq!(ladder.advance(now), None);
        assert_eq!(ladder.due(), now + SECOND);
        assert_eq!(ladder.advance(now + SECOND), Some(Act::Terminate));
        assert_eq!(ladder.advance(now + 2 * SECOND), None);
        assert_eq!(ladder.advance(now + 3 * SECOND), Some(Act::Force));
        assert_eq!(ladder.advance(now + 4 * SECOND), Some(Act::Force));
        assert_eq!(ladder.advance(now + 60 * SECOND), Some(Act::GiveUp));
    }

    #[test]
    fn a_step_without_a_grace_is_left_out() {
        let now = Instant::now();
        assert_eq!(
            Ladder::new(now, Duration::ZERO, SECOND).advance(now),
            Some(Act::Terminate)
        );
        assert_eq!(
            Ladder::new(now, Duration::ZERO, Duration::ZERO).advance(now),
            Some(Act::Force)
        );
    }

    #[test]
    fn a_second_stop_forces_at_once_and_a_third_does_not_put_off_the_end() {
        let now = Instant::now();
        let mut ladder = Ladder::new(now, 60 * SECOND, 60 * SECOND);
        assert_eq!(ladder.advance(now), Some(Act::Interrupt));
        ladder.force(now + SECOND);
        assert_eq!(ladder.advance(now + SECOND), Some(Act::Force));
        assert_eq!(ladder.leftover_grace(), Duration::ZERO);
        ladder.force(now + 20 * SECOND);
        assert_eq!(ladder.advance(now + 21 * SECOND), Some(Act::GiveUp));
    }

    #[test]
    fn a_second_stop_cuts_the_grace_after_the_termination_signal_short() {
        let now = Instant::now();
        let mut ladder = Ladder::new(now, Duration::ZERO, 60 * SECOND);
        assert_eq!(ladder.advance(now), Some(Act::Terminate));
        ladder.force(now + SECOND);
        assert_eq!(ladder.advance(now + SECOND), Some(Act::Force));
    }

    #[test]
    fn an_endless_grace_is_no_overflow() {
        let now = Instant::now();
        assert_eq!(
            Ladder::new(now, Duration::MAX, Duration::MAX).advance(now),
            Some(Act::Interrupt)
        );
    }
}
