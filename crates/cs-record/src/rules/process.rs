//! Which process carries an attempt.

use cs_fence::{Attempt, Fenced, ProcessFact, Verdict, judge};
use cs_model::{MachineId, Time};

use crate::aggregate::Draft;
use crate::{Aggregate, LeftBehind, LeftProcess, Run, Writes};

/// Writes the process of a running attempt (AF-7).
pub fn record_process(
    aggregate: &Aggregate,
    attempt: &Attempt,
    process: &ProcessFact,
    now: Time,
) -> (Writes, Fenced<()>) {
    let verdict = aggregate.run(attempt.run).map(|run| judge(&run.fence(), attempt));
    match verdict {
        Some(Verdict::Running) => write(aggregate, attempt, now, |run| run.process = Some(process.clone())),
        Some(Verdict::Asked | Verdict::Over | Verdict::Stale) | None => stale(aggregate, attempt),
    }
}

/// Removes the process of an attempt that does not run any more, while the row holds this very process (AF-8). Only this
/// makes the card ready for its next attempt. A mark of what could not be ended goes with it.
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
            write(aggregate, attempt, now, |run| {
                run.process = None;
                run.left_behind = None;
            })
        }
        Verdict::Running | Verdict::Asked | Verdict::Over | Verdict::Stale => stale(aggregate, attempt),
    }
}

/// Removes the process of a run of which its machine has nothing left but what the record says: neither the attempt, which would have to
/// say so, nor the execution. Only while the row holds this very process of this very epoch. A run that is running goes on to be so.
pub fn forget_process(
    aggregate: &Aggregate,
    machine: MachineId,
    left: &LeftProcess,
    now: Time,
) -> (Writes, bool) {
    let holds = |run: &Run| {
        run.machine == machine && run.epoch == left.epoch && run.process.as_ref() == Some(&left.process)
    };
    if !aggregate.run(left.run).is_some_and(holds) {
        return (Writes::default(), false);
    }
    let mut draft = Draft::of(aggregate, now);
    if let Some(run) = draft.run_mut(left.run) {
        run.process = None;
        run.left_behind = None;
    }
    (draft.finish(), true)
}

/// Marks an attempt whose process tree could not be ended, while the row holds this very process. Its run may be live or over: the mark
/// is no ending. The time is that of the first mark.
pub fn mark_incomplete(
    aggregate: &Aggregate,
    attempt: &Attempt,
    process: &ProcessFact,
    left: &str,
    now: Time,
) -> (Writes, Fenced<()>) {
    let Some(run) = aggregate.run(attempt.run) else {
        return stale(aggregate, attempt);
    };
    match judge(&run.fence(), attempt) {
        Verdict::Running | Verdict::Asked | Verdict::Over if run.process.as_ref() == Some(process) => {
            let since = run.left_behind.as_ref().map_or(now, |mark| mark.since);
            let mark = LeftBehind {
                what: left.to_owned(),
                since,
            };
            write(aggregate, attempt, now, |run| run.left_behind = Some(mark))
        }
        Verdict::Running | Verdict::Asked | Verdict::Over | Verdict::Stale => stale(aggregate, attempt),
    }
}

fn write(
    aggregate: &Aggregate,
    attempt: &Attempt,
    now: Time,
    change: impl FnOnce(&mut Run),
) -> (Writes, Fenced<()>) {
    let mut draft = Draft::of(aggregate, now);
    if let Some(run) = draft.run_mut(attempt.run) {
        change(run);
    }
    (draft.finish(), Fenced::Applied(()))
}

fn stale(aggregate: &Aggregate, attempt: &Attempt) -> (Writes, Fenced<()>) {
    (Writes::default(), Fenced::Stale(aggregate.standing(attempt.run)))
}
