//! An attempt ends with failure.

use cs_fence::{Attempt, Fenced, Verdict, judge};
use cs_model::{CardState, FailureClass, RunId, RunKind, RunState, Time, TurnState};
use cs_settle::{
    About, GaveUp, GiveUp, NextSession, Retry, RetryFacts, counts_as_try, ending_of, final_reason, retry,
    retry_when_mended,
};

use super::answer::settle;
use super::used::count;
use crate::aggregate::Draft;
use crate::{Aggregate, Park, Route, Run, Writes};

/// Ends an attempt and decides by the retry table whether its run goes on. A run that does keeps what it holds, and waits for
/// its time, or for its route when that is parked now. One that does not ends by its kind (ST-3).
///
/// A run that had asked before it failed did not fail: its question stands (ST-4), unless the failure is about the sign-in,
/// which parks its route (ST-6).
pub fn give_up(
    aggregate: &Aggregate,
    attempt: &Attempt,
    failure: &GiveUp,
    now: Time,
) -> (Writes, Fenced<GaveUp>) {
    let Some((run, asked)) = at_work(aggregate, attempt) else {
        return (Writes::default(), Fenced::Stale(aggregate.standing(attempt.run)));
    };
    let mut draft = Draft::of(aggregate, now);
    count(&mut draft, attempt, &failure.used);
    if asked && failure.class != FailureClass::Authentication {
        settle(&mut draft, run.id);
        return (draft.finish(), Fenced::Applied(GaveUp::Asked));
    }
    let facts = RetryFacts {
        tries_before: run.tries,
        starts: run.starts,
        same_class_in_row: in_row(run, failure.class),
    };
    let tries = run.tries + u32::from(counts_as_try(failure.class));
    draft.end_run(run.id, RunState::Ended(ending_of(failure.class)));
    if let Some(run) = draft.run_mut(run.id) {
        run.tries = tries;
        run.failure = Some(failure.class);
        run.failed_because = Some(failure.reason.clone());
        run.failures_in_row = facts.same_class_in_row;
    }
    let next = match failure.about {
        About::Attempt => retry(failure.class, &facts),
        About::Route => retry_when_mended(&facts),
    };
    let gave_up = match next {
        Retry::Again { wait, session } => {
            let not_before = again_at(failure, now, now.plus(wait));
            if failure.class == FailureClass::RateLimit {
                draft.parks.push(park(run, failure, now, Some(not_before)));
            }
            // A park does the waiting: what opens the route, or leads the work to another, lets the run go on at once.
            let from = if failure.class == FailureClass::RateLimit {
                now
            } else {
                not_before
            };
            go_on(&mut draft, run.id, from);
            if let (NextSession::Fresh, Some(run)) = (session, draft.run_mut(run.id)) {
                run.fresh = true;
            }
            GaveUp::Again { not_before, tries }
        }
        Retry::Parked => {
            draft.parks.push(park(run, failure, now, None));
            go_on(&mut draft, run.id, now);
            GaveUp::Parked
        }
        Retry::Final(cause) => {
            let reason = final_reason(&failure.reason, cause, tries);
            end_for_good(&mut draft, run.id, reason);
            if failure.class == FailureClass::Cancelled && draft.card.state == CardState::Failed {
                // A person ended it, and the record hears of it only now.
                draft.card.state = CardState::Stopped;
            }
            GaveUp::Failed { tries }
        }
    };
    (draft.finish(), Fenced::Applied(gave_up))
}

/// Finds the run of an attempt that may end now, and says whether it has asked.
pub(super) fn at_work<'a>(aggregate: &'a Aggregate, attempt: &Attempt) -> Option<(&'a Run, bool)> {
    let run = aggregate.run(attempt.run)?;
    match judge(&run.fence(), attempt) {
        Verdict::Running => Some((run, false)),
        Verdict::Asked if run.settled < run.epoch => Some((run, true)),
        Verdict::Asked | Verdict::Over | Verdict::Stale => None,
    }
}

/// The time that the provider stated, when it is later than now; a wait of our own otherwise.
fn again_at(failure: &GiveUp, now: Time, ours: Time) -> Time {
    let stated = failure.until.filter(|until| *until > now);
    match failure.class {
        FailureClass::RateLimit => stated.unwrap_or(ours),
        FailureClass::Agent
        | FailureClass::Unknown
        | FailureClass::Verify
        | FailureClass::Conflict
        | FailureClass::ContextOverflow
        | FailureClass::Overloaded
        | FailureClass::Infrastructure
        | FailureClass::Capacity
        | FailureClass::Credit
        | FailureClass::Authentication
        | FailureClass::Interrupted
        | FailureClass::InvalidRequest
        | FailureClass::Cancelled => ours,
    }
}

fn park(run: &Run, failure: &GiveUp, now: Time, until: Option<Time>) -> Park {
    Park {
        route: Route {
            machine: run.machine,
            agent: run.agent.clone(),
        },
        class: failure.class,
        reason: failure.reason.clone(),
        since: now,
        until,
    }
}

fn go_on(draft: &mut Draft<'_>, run: RunId, from: Time) {
    if let Some(run) = draft.run_mut(run) {
        run.again_at = Some(from);
    }
}

/// Counts the failures of this class that have ended the latest attempts of a run, one more included.
pub(super) fn in_row(run: &Run, class: FailureClass) -> u32 {
    if run.failure == Some(class) {
        run.failures_in_row.saturating_add(1)
    } else {
        1
    }
}

/// Says of a run that has failed for good what that means for its card, by its kind (ST-3).
///
/// * Owner: what it held is handed back, the card fails.
/// * Launcher: what it held stays with it, or a new launcher would be started for it for ever; the card fails, unless an owner
///   has become responsible for it.
/// * Worker: its questions are withdrawn; its parent reads it back.
pub(super) fn end_for_good(draft: &mut Draft<'_>, id: RunId, reason: String) {
    draft.withdraw_asks(id);
    let kind = draft.run_mut(id).map(|run| {
        run.failed_because = Some(reason.clone());
        run.kind
    });
    match kind {
        Some(RunKind::Owner) => {
            draft.move_leased(id, TurnState::Pending);
            fail_card(draft, reason);
        }
        Some(RunKind::Launcher) if draft.card.owner.is_some() => draft.move_leased(id, TurnState::Settled),
        Some(RunKind::Launcher) => fail_card(draft, reason),
        Some(RunKind::Worker | RunKind::Issue) | None => {}
    }
}

fn fail_card(draft: &mut Draft<'_>, reason: String) {
    draft.card.state = CardState::Failed;
    draft.card.reason = Some(reason);
}
