//! Attempts were cut short through no fault of their own.

use cs_fence::{InterruptOutcome, Interruption, Verdict, judge};
use cs_model::{Ending, Epoch, FailureClass, MachineId, RunId, RunState, Time};
use cs_settle::{Retry, RetryFacts, final_reason, retry};

use super::give_up::{end_for_good, in_row};
use crate::aggregate::Draft;
use crate::{Aggregate, Writes};

/// Ends running attempts of this machine on one card so that their runs go on by the retry table, without counting a try; what they hold
/// stays their own. Each report is decided as the ones before it left the card, and has its outcome, in their order. The tenth
/// start without an accepted settlement ends the run for good instead.
#[must_use]
pub fn interrupt(
    aggregate: &Aggregate,
    machine: MachineId,
    interruptions: &[&Interruption],
    now: Time,
) -> (Writes, Vec<InterruptOutcome>) {
    let mut draft = Draft::of(aggregate, now);
    let outcomes = interruptions
        .iter()
        .map(|one| interrupt_one(&mut draft, machine, one))
        .collect();
    (draft.finish(), outcomes)
}

fn interrupt_one(draft: &mut Draft<'_>, machine: MachineId, interruption: &Interruption) -> InterruptOutcome {
    let attempt = &interruption.attempt;
    let Some(run) = draft.run_mut(attempt.run).filter(|run| run.machine == machine) else {
        return InterruptOutcome::Stale;
    };
    match judge(&run.fence(), attempt) {
        Verdict::Running => {
            cut_short(draft, attempt.run);
            InterruptOutcome::Interrupted
        }
        Verdict::Over if run.state == RunState::Ended(Ending::Interrupted) => {
            InterruptOutcome::AlreadyInterrupted
        }
        Verdict::Stale if run.epoch > attempt.epoch => InterruptOutcome::Continued,
        Verdict::Asked | Verdict::Over | Verdict::Stale => InterruptOutcome::Stale,
    }
}

/// Gives back a running run of which its machine has lost every trace: there is no attempt that could say so itself. Only
/// while no process of it is on the record; then something of it ran, and a person must say that it is gone.
pub fn hand_back_run(
    aggregate: &Aggregate,
    machine: MachineId,
    run: RunId,
    epoch: Epoch,
    now: Time,
) -> (Writes, bool) {
    let is_lost = aggregate.run(run).is_some_and(|run| {
        run.machine == machine
            && run.epoch == epoch
            && run.state == RunState::Running
            && run.process.is_none()
    });
    if !is_lost {
        return (Writes::default(), false);
    }
    let mut draft = Draft::of(aggregate, now);
    cut_short(&mut draft, run);
    (draft.finish(), true)
}

/// Ends a running run so that it goes on: at once, after a growing wait when that comes again and again, and not at all when it was
/// started too often.
fn cut_short(draft: &mut Draft<'_>, id: RunId) {
    let now = draft.now;
    draft.end_run(id, RunState::Ended(Ending::Interrupted));
    let Some(run) = draft.run_mut(id) else {
        return;
    };
    let class = FailureClass::Interrupted;
    let facts = RetryFacts {
        tries_before: run.tries,
        starts: run.starts,
        same_class_in_row: in_row(run, class),
    };
    run.failure = Some(class);
    run.failed_because = None;
    run.failures_in_row = facts.same_class_in_row;
    let cause = match retry(class, &facts) {
        Retry::Again { wait, .. } => {
            run.again_at = Some(now.plus(wait));
            return;
        }
        Retry::Parked => {
            run.again_at = Some(now);
            return;
        }
        Retry::Final(cause) => cause,
    };
    let reason = final_reason("the agent was cut short", cause, run.tries);
    end_for_good(draft, id, reason);
}
