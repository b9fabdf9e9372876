//! Which process carries an attempt.

use cs_fence::{Attempt, Fenced, ProcessFact, Verdict, judge};
use cs_model::Time;

use crate::aggregate::Draft;
use crate::{Aggregate, Writes};

/// Writes the process of a running attempt (AF-7).
pub fn record_process(
    aggregate: &Aggregate,
    attempt: &Attempt,
    process: &ProcessFact,
    now: Time,
) -> (Writes, Fenced<()>) {
    let verdict = aggregate.run(attempt.run).map(|run| judge(&run.fence(), attempt));
    match verdict {
        Some(Verdict::Running) => write(aggregate, attempt, Some(process.clone()), now),
        Some(Verdict::Asked | Verdict::Over | Verdict::Stale) | None => stale(aggregate, attempt),
    }
}

/// Removes the process of an attempt that does not run any more, while the row holds this very process (AF-8). Only this
/// makes the card ready for its next attempt.
pub fn clear_process(
    aggregate: &Aggregate,
    attempt: &Attempt,
    process: &ProcessFact,
    now: Time,
) -> (Writes, Fenced<()>) {
    let Some(run) = aggregate.run(attempt.run) else {
        return stale(aggregate, attempt);
    };
    match judge(&run.fence(), attempt) {
        Verdict::Asked | Verdict::Over if run.process.as_ref() == Some(process) => {
            write(aggregate, attempt, None, now)
        }
        Verdict::Running | Verdict::Asked | Verdict::Over | Verdict::Stale => stale(aggregate, attempt),
    }
}

fn write(
    aggregate: &Aggregate,
    attempt: &Attempt,
    process: Option<ProcessFact>,
    now: Time,
) -> (Writes, Fenced<()>) {
    let mut draft = Draft::of(aggregate, now);
    if let Some(run) = draft.run_mut(attempt.run) {
        run.process = process;
    }
    (draft.finish(), Fenced::Applied(()))
}

fn stale(aggregate: &Aggregate, attempt: &Attempt) -> (Writes, Fenced<()>) {
    (Writes::default(), Fenced::Stale(aggregate.standing(attempt.run)))
}
