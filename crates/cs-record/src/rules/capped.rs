//! A budget ends an attempt.

use cs_fence::{Attempt, Fenced};
use cs_model::{Ending, RunState, Time};
use cs_settle::{Capped, GaveUp};

use super::answer::settle;
use super::give_up::{at_work, end_for_good};
use super::used::count;
use crate::aggregate::Draft;
use crate::{Aggregate, Writes};

/// Ends an attempt that has used up a budget, and its run with it: what it held is handed back as after a failure for good, and no
/// try is counted. A run that had asked did its part: its question stands.
pub fn capped(
    aggregate: &Aggregate,
    attempt: &Attempt,
    capped: &Capped,
    now: Time,
) -> (Writes, Fenced<GaveUp>) {
    let Some((run, asked)) = at_work(aggregate, attempt) else {
        return (Writes::default(), Fenced::Stale(aggregate.standing(attempt.run)));
    };
    let mut draft = Draft::of(aggregate, now);
    count(&mut draft, attempt, &capped.used);
    if asked {
        settle(&mut draft, run.id);
        return (draft.finish(), Fenced::Applied(GaveUp::Asked));
    }
    draft.end_run(run.id, RunState::Ended(Ending::Capped(capped.cap)));
    if let Some(run) = draft.run_mut(run.id) {
        run.failure = None;
        run.failures_in_row = 0;
    }
    end_for_good(&mut draft, run.id, capped.reason.clone());
    (
        draft.finish(),
        Fenced::Applied(GaveUp::Failed { tries: run.tries }),
    )
}
