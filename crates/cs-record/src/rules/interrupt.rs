//! An attempt was cut short through no fault of its own.

use cs_fence::{InterruptOutcome, Interruption, Verdict, judge};
use cs_model::{Ending, Epoch, MachineId, RunId, RunState, Time};
use cs_settle::{FinalCause, MAX_STARTS, final_reason};

use super::give_up::fail_card;
use crate::aggregate::Draft;
use crate::{Aggregate, Writes};

/// Ends a running attempt of this machine so that its run goes on at once, without counting a try; the turns that it holds
/// stay its own. The tenth start without an accepted settlement parks the card instead.
#[must_use]
pub fn interrupt(
    aggregate: &Aggregate,
    machine: MachineId,
    interruption: &Interruption,
    now: Time,
) -> (Writes, InterruptOutcome) {
    let attempt = &interruption.attempt;
    let Some(run) = aggregate.run(attempt.run).filter(|run| run.machine == machine) else {
        return (Writes::default(), InterruptOutcome::Stale);
    };
    match judge(&run.fence(), attempt) {
        Verdict::Running => {}
        Verdict::Over if run.state == RunState::Ended(Ending::Interrupted) => {
            return (Writes::default(), InterruptOutcome::AlreadyInterrupted);
        }
        Verdict::Stale if run.epoch > attempt.epoch => {
            return (Writes::default(), InterruptOutcome::Continued);
        }
        Verdict::Asked | Verdict::Over | Verdict::Stale => {
            return (Writes::default(), InterruptOutcome::Stale);
        }
    }
    (
        cut_short(aggregate, attempt.run, now),
        InterruptOutcome::Interrupted,
    )
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
    if is_lost {
        (cut_short(aggregate, run, now), true)
    } else {
        (Writes::default(), false)
    }
}

/// Ends a running run so that it goes on at once, unless it was started too often.
fn cut_short(aggregate: &Aggregate, run: RunId, now: Time) -> Writes {
    let mut draft = Draft::of(aggregate, now);
    draft.end_run(run, RunState::Ended(Ending::Interrupted));
    if draft.card.starts >= MAX_STARTS {
        let reason = final_reason(
            "the agent was cut short",
            FinalCause::TooManyStarts,
            draft.card.tries,
        );
        fail_card(&mut draft, run, reason);
    } else if let Some(run) = draft.run_mut(run) {
        run.again_at = Some(now);
    }
    draft.finish()
}
