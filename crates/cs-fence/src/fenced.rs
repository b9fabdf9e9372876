//! The judgement: may this attempt write?

use std::fmt;

use cs_model::{Epoch, RunId, RunState};

use crate::{Attempt, TokenHash};

/// The part of a run's row that a fence compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FenceRow {
    /// The present epoch.
    pub epoch: Epoch,
    /// The hash of the present attempt's token.
    pub token: TokenHash,
    /// Where the run is.
    pub state: RunState,
}

impl FenceRow {
    /// Returns the row of a run of which this is the present attempt, and works.
    #[must_use]
    pub fn running(attempt: &Attempt) -> Self {
        Self {
            epoch: attempt.epoch,
            token: attempt.token.hash(),
            state: RunState::Running,
        }
    }
}

/// What the record holds of a run at the moment of a refused write: a fact to print, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The run that the attempt named.
    pub run: RunId,
    /// Its present epoch and state; nothing when the record does not hold the run.
    pub row: Option<(Epoch, RunState)>,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = self.run.short();
        match self.row {
            None => write!(f, "run {run} is no longer on the record"),
            Some((epoch, state)) => write!(f, "run {run} is {state} at attempt {epoch}"),
        }
    }
}

/// The answer to a fenced write. A stale attempt changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a stale attempt changed nothing; say so"]
pub enum Fenced<T> {
    /// The write was made.
    Applied(T),
    /// The attempt is not the current one, or its run is over; nothing was written.
    Stale(Standing),
}

impl<T> Fenced<T> {
    /// Turns the value of an applied write into another.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fenced<U> {
        match self {
            Self::Applied(value) => Fenced::Applied(change(value)),
            Self::Stale(standing) => Fenced::Stale(standing),
        }
    }
}

/// What an attempt is to its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the current attempt, and the run is running.
    Running,
    /// It is the current attempt, and the run has asked and waits.
    Asked,
    /// It is the last attempt of a run that is over.
    Over,
    /// It is not the current attempt.
    Stale,
}

/// Judges an attempt against the row, under the lock. Epoch and token must both match.
#[must_use]
pub fn judge(row: &FenceRow, attempt: &Attempt) -> Verdict {
    if row.epoch != attempt.epoch || row.token != attempt.token.hash() {
        return Verdict::Stale;
    }
    match row.state {
        RunState::Running => Verdict::Running,
        RunState::Asked => Verdict::Asked,
        RunState::Ended(_) => Verdict::Over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;
    use cs_model::Ending;

    fn check(epoch: u32, token: u8, state: RunState, expected: Verdict) {
        let attempt = Attempt {
            run: RunId::from_uuid(uuid::Uuid::from_u128(1)),
            epoch: Epoch::new(2),
            token: Token::from_bytes([2; 16]),
        };
        let row = FenceRow {
            epoch: Epoch::new(epoch),
            token: Token::from_bytes([token; 16]).hash(),
            state,
        };
        assert_eq!(judge(&row, &attempt), expected);
        assert_eq!(judge(&FenceRow::running(&attempt), &attempt), Verdict::Running);
    }

    #[test]
    fn only_the_attempt_with_epoch_and_token_of_the_row_is_current() {
        check(2, 2, RunState::Running, Verdict::Running);
        check(2, 2, RunState::Asked, Verdict::Asked);
        check(2, 2, RunState::Ended(Ending::Stopped), Verdict::Over);
        check(3, 2, RunState::Running, Verdict::Stale);
        check(2, 3, RunState::Running, Verdict::Stale);
    }

    #[test]
    fn a_record_restored_from_a_backup_refuses_newer_attempts() {
        check(1, 1, RunState::Running, Verdict::Stale);
        check(1, 2, RunState::Running, Verdict::Stale);
    }
}
