//! An attempt was cut short through no fault of its own.

use cs_fence::{InterruptOutcome, Interruption, Verdict, judge};
use cs_model::{Ending, MachineId, RunState, Time};
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
    let mut draft = Draft::of(aggregate, now);
    draft.end_run(attempt.run, RunState::Ended(Ending::Interrupted));
    if draft.card.starts >= MAX_STARTS {
        let reason = final_reason(
            "the agent was cut short",
            FinalCause::TooManyStarts,
            draft.card.tries,
        );
        fail_card(&mut draft, attempt.run, reason);
    } else if let Some(run) = draft.run_mut(attempt.run) {
        run.again_at = Some(now);
    }
    (draft.finish(), InterruptOutcome::Interrupted)
}
