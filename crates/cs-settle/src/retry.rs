//! The retry table: does a failed attempt go on, when, and with which session?

use std::time::Duration;

use cs_model::{Ending, FailureClass};

/// How many tries a delivery has: endings that the agent caused since the last accepted settlement.
pub const MAX_TRIES: u32 = 3;
/// How many starts park a card, whatever ended them, since the last accepted settlement.
pub const MAX_STARTS: u32 = 10;
/// How many failures of one class that is nobody's fault may follow each other.
pub const MAX_IN_ROW: u32 = 10;

/// The waits after the first, second and third failure of the agent's own making.
const TRY_WAITS: [Duration; 3] = [
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
];
const LOAD_WAITS: Waits = Waits { first: 10, last: 900 };
const RATE_WAITS: Waits = Waits {
    first: 60,
    last: 1800,
};

/// What the retry table looks at besides the class. All counts begin anew at an accepted settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryFacts {
    /// Failures that counted as a try, before this one.
    pub tries_before: u32,
    /// Starts so far, the one that has just failed included.
    pub starts: u32,
    /// Failures of this class that ended the latest attempts without another ending between, this one included (so 1 or
    /// more).
    pub same_class_in_row: u32,
}

/// With which session of the agent program the next attempt begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSession {
    /// The same conversation goes on.
    Same,
    /// A new conversation begins, with the record as its memory.
    Fresh,
}

/// Why a run does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalCause {
    /// Such a failure would come again each time, or a person wanted it so.
    NotRetried,
    /// The tries of the delivery are used up ([`MAX_TRIES`]).
    TriesUsedUp,
    /// Too many starts without an accepted settlement ([`MAX_STARTS`]).
    TooManyStarts,
    /// Too many failures of one class in a row ([`MAX_IN_ROW`]; a full context: 1).
    TooManyInRow,
}

/// Whether a run goes on after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It goes on under its next epoch, not before the wait is over.
    Again {
        /// The time to wait from the failure on.
        wait: Duration,
        /// The session to go on with.
        session: NextSession,
    },
    /// It waits until a person, or a probe of the route, says that the cause is gone.
    Parked,
    /// It is over.
    Final(FinalCause),
}

/// Says whether a failure of this class uses up a try: the agent caused it.
#[must_use]
pub const fn counts_as_try(class: FailureClass) -> bool {
    match class {
        FailureClass::Agent
        | FailureClass::Unknown
        | FailureClass::Verify
        | FailureClass::Conflict
        | FailureClass::ContextOverflow => true,
        FailureClass::RateLimit
        | FailureClass::Overloaded
        | FailureClass::Infrastructure
        | FailureClass::Capacity
        | FailureClass::Credit
        | FailureClass::Authentication
        | FailureClass::Interrupted
        | FailureClass::InvalidRequest
        | FailureClass::Cancelled => false,
    }
}

/// Decides whether a run goes on after a failure of this class.
///
/// What can be retried at all ends with the third try, with the tenth start, or with more than ten failures of one class
/// in a row; it never goes on for ever.
#[must_use]
pub fn retry(class: FailureClass, facts: &RetryFacts) -> Retry {
    match class {
        FailureClass::Agent | FailureClass::Unknown => bounded(class, facts, |facts| {
            let index = usize::try_from(facts.tries_before).unwrap_or(usize::MAX);
            *TRY_WAITS.get(index).unwrap_or(&TRY_WAITS[TRY_WAITS.len() - 1])
        }),
        FailureClass::Verify | FailureClass::Conflict => bounded(class, facts, |_| Duration::ZERO),
        // Once is nobody's fault. Again and again it may be the agent that ends its own shim, or the machine.
        FailureClass::Interrupted => bounded(class, facts, |facts| match facts.same_class_in_row {
            0 | 1 => Duration::ZERO,
            in_row => LOAD_WAITS.after(in_row - 1),
        }),
        FailureClass::ContextOverflow if facts.same_class_in_row > 1 => {
            Retry::Final(FinalCause::TooManyInRow)
        }
        FailureClass::ContextOverflow => bounded(class, facts, |_| Duration::ZERO),
        FailureClass::RateLimit => bounded(class, facts, |facts| RATE_WAITS.after(facts.same_class_in_row)),
        FailureClass::Overloaded | FailureClass::Infrastructure | FailureClass::Capacity => {
            bounded(class, facts, |facts| LOAD_WAITS.after(facts.same_class_in_row))
        }
        FailureClass::Credit | FailureClass::Authentication => retry_when_mended(facts),
        FailureClass::InvalidRequest | FailureClass::Cancelled => Retry::Final(FinalCause::NotRetried),
    }
}

/// Decides whether a run goes on after a failure whose cause a person has to mend on its route first.
#[must_use]
pub const fn retry_when_mended(facts: &RetryFacts) -> Retry {
    if facts.starts >= MAX_STARTS {
        Retry::Final(FinalCause::TooManyStarts)
    } else {
        Retry::Parked
    }
}

/// Says how a run ends that does not go on after a failure of this class.
#[must_use]
pub const fn ending_of(class: FailureClass) -> Ending {
    match class {
        FailureClass::Agent
        | FailureClass::Unknown
        | FailureClass::Verify
        | FailureClass::Conflict
        | FailureClass::ContextOverflow
        | FailureClass::RateLimit
        | FailureClass::Overloaded
        | FailureClass::Infrastructure
        | FailureClass::Capacity
        | FailureClass::Credit
        | FailureClass::Authentication
        | FailureClass::InvalidRequest => Ending::Failed,
        FailureClass::Interrupted => Ending::Interrupted,
        FailureClass::Cancelled => Ending::Stopped,
    }
}

/// Renders the reason of a run that is over; it mentions the number of tries when there was more than one (ST-8).
#[must_use]
pub fn final_reason(reason: &str, cause: FinalCause, tries: u32) -> String {
    match cause {
        FinalCause::TooManyStarts => {
            format!("{reason} (after {MAX_STARTS} starts without a result)")
        }
        FinalCause::TooManyInRow if tries <= 1 => format!("{reason} (again and again)"),
        FinalCause::NotRetried | FinalCause::TriesUsedUp | FinalCause::TooManyInRow if tries > 1 => {
            format!("{reason} (after {tries} tries)")
        }
        FinalCause::NotRetried | FinalCause::TriesUsedUp | FinalCause::TooManyInRow => reason.to_owned(),
    }
}

/// Waits that double from the first to the last, in seconds.
struct Waits {
    first: u64,
    last: u64,
}

impl Waits {
    fn after(&self, in_row: u32) -> Duration {
        let doublings = in_row.saturating_sub(1).min(32);
        Duration::from_secs(self.first.saturating_mul(1 << doublings).min(self.last))
    }
}

fn bounded(class: FailureClass, facts: &RetryFacts, wait: impl Fn(&RetryFacts) -> Duration) -> Retry {
    if counts_as_try(class) && facts.tries_before.saturating_add(1) >= MAX_TRIES {
        return Retry::Final(FinalCause::TriesUsedUp);
    }
    if facts.starts >= MAX_STARTS {
        return Retry::Final(FinalCause::TooManyStarts);
    }
    if facts.same_class_in_row > MAX_IN_ROW {
        return Retry::Final(FinalCause::TooManyInRow);
    }
    let session = match class {
        FailureClass::ContextOverflow => NextSession::Fresh,
        FailureClass::Agent
        | FailureClass::Unknown
        | FailureClass::Verify
        | FailureClass::Conflict
        | FailureClass::RateLimit
        | FailureClass::Overloaded
        | FailureClass::Infrastructure
        | FailureClass::Capacity
        | FailureClass::Credit
        | FailureClass::Authentication
        | FailureClass::Interrupted
        | FailureClass::InvalidRequest
        | FailureClass::Cancelled => NextSession::Same,
    };
    Retry::Again {
        wait: wait(facts),
        session,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(tries_before: u32, starts: u32, same_class_in_row: u32) -> RetryFacts {
        RetryFacts {
            tries_before,
            starts,
            same_class_in_row,
        }
    }

    fn show(decision: Retry) -> String {
        match decision {
            Retry::Again { wait, session } => format!("{}s {session:?}", wait.as_secs()),
            Retry::Parked => "parked".to_owned(),
            Retry::Final(cause) => format!("{cause:?}"),
        }
    }

    #[test]
    fn the_retry_table() {
        let columns = [
            facts(0, 1, 1),
            facts(1, 2, 2),
            facts(2, 3, 3),
            facts(0, 7, 7),
            facts(0, 9, 11),
            facts(0, 10, 1),
        ];
        let mut table =
            String::from("class | first | second | third | seventh | eleventh in a row | tenth start\n");
        for class in FailureClass::ALL {
            let cells: Vec<String> = columns.iter().map(|facts| show(retry(*class, facts))).collect();
            let ends = ending_of(*class);
            table += &format!(
                "{class} | {} | counts {}, ends {ends:?}\n",
                cells.join(" | "),
                counts_as_try(*class)
            );
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_run_of_failures_always_ends() {
        for class in FailureClass::ALL {
            let ends = (1..=20).any(|n| {
                let tries = if counts_as_try(*class) { n - 1 } else { 0 };
                !matches!(retry(*class, &facts(tries, n, n)), Retry::Again { .. })
            });
            assert!(ends, "{class} goes on for ever");
        }
    }

    /// ST-8, scenario 27.
    #[test]
    fn three_processes_and_then_the_reason_with_the_count() {
        for tries_before in 0..2 {
            let decision = retry(FailureClass::Agent, &facts(tries_before, tries_before + 1, 1));
            assert!(matches!(decision, Retry::Again { .. }), "{tries_before}");
        }
        let last = retry(FailureClass::Agent, &facts(2, 3, 3));
        assert_eq!(last, Retry::Final(FinalCause::TriesUsedUp));
        assert_eq!(
            final_reason("the agent failed", FinalCause::TriesUsedUp, 3),
            "the agent failed (after 3 tries)"
        );
        assert_eq!(
            final_reason("no such model", FinalCause::NotRetried, 1),
            "no such model"
        );
    }
}
