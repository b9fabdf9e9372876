//! An attempt ends with failure.

use cs_fence::{Attempt, Fenced, Verdict, judge};
use cs_model::{CardState, RunId, RunState, Time, TurnState};
use cs_settle::{
    FinalCause, GaveUp, GiveUp, Retry, RetryFacts, counts_as_try, ending_of, final_reason, retry,
};

use super::answer::add_usage;
use crate::aggregate::Draft;
use crate::{Aggregate, Run, Writes};

/// Ends a running attempt and decides by the retry table whether its run goes on. A run that does keeps the turns that it
/// holds; one that does not hands them back, withdraws its questions, and the card is `failed` with the reason (ST-3, ST-8).
pub fn give_up(
    aggregate: &Aggregate,
    attempt: &Attempt,
    failure: &GiveUp,
    now: Time,
) -> (Writes, Fenced<GaveUp>) {
    let stale = || (Writes::default(), Fenced::Stale(aggregate.standing(attempt.run)));
    let Some(run) = aggregate.run(attempt.run) else {
        return stale();
    };
    match judge(&run.fence(), attempt) {
        Verdict::Running => {}
        Verdict::Asked | Verdict::Over | Verdict::Stale => return stale(),
    }
    let facts = RetryFacts {
        tries_before: aggregate.card.tries,
        starts: aggregate.card.starts,
        same_class_in_row: in_row(run, failure),
    };
    let tries = aggregate.card.tries + u32::from(counts_as_try(failure.class));
    let mut draft = Draft::of(aggregate, now);
    draft.card.tries = tries;
    add_usage(&mut draft.card, &failure.usage);
    draft.end_run(attempt.run, RunState::Ended(ending_of(failure.class)));
    if let Some(run) = draft.run_mut(attempt.run) {
        run.failure = Some(failure.class);
        run.failed_because = Some(failure.reason.clone());
        run.failures_in_row = facts.same_class_in_row;
    }
    let gave_up = match retry(failure.class, &facts) {
        Retry::Again { wait, .. } => {
            let not_before = now.plus(wait);
            if let Some(run) = draft.run_mut(attempt.run) {
                run.again_at = Some(not_before);
            }
            GaveUp::Again { not_before, tries }
        }
        Retry::Parked => {
            let reason = final_reason(&failure.reason, FinalCause::NotRetried, tries);
            fail_card(&mut draft, attempt.run, reason);
            GaveUp::Failed { tries }
        }
        Retry::Final(cause) => {
            fail_card(
                &mut draft,
                attempt.run,
                final_reason(&failure.reason, cause, tries),
            );
            GaveUp::Failed { tries }
        }
    };
    (draft.finish(), Fenced::Applied(gave_up))
}

fn in_row(run: &Run, failure: &GiveUp) -> u32 {
    if run.failure == Some(failure.class) {
        run.failures_in_row.saturating_add(1)
    } else {
        1
    }
}

/// Hands back what the run held and parks the card.
pub(super) fn fail_card(draft: &mut Draft<'_>, run: RunId, reason: String) {
    draft.move_leased(run, TurnState::Pending);
    draft.withdraw_asks(run);
    draft.card.state = CardState::Failed;
    draft.card.reason = Some(reason);
}
