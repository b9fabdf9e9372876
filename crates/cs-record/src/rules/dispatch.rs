//! A run sends another one.

use cs_fence::{Verdict, judge};
use cs_journal::{Child, ClaimedRun, DispatchRefusal, Woke};
use cs_model::{Epoch, IdSource, RunKind, Time};

use super::start::{self, NewRun};
use super::{MAX_TURN_BYTES, Taker};
use crate::aggregate::Draft;
use crate::{Aggregate, Run, RunText, Writes};

/// Starts a child of a running attempt, at work on the same machine: the owner of a launcher's card, or a worker of an owner.
/// Its brief is written with it and never changes.
///
/// # Errors
/// Refused, with nothing written: the parent is over, is too deep, its conversation has an owner, or there is no room.
pub fn dispatch(
    aggregate: &Aggregate,
    taker: &Taker<'_>,
    child: &Child,
    now: Time,
    ids: &dyn IdSource,
) -> Result<(Writes, ClaimedRun), DispatchRefusal> {
    let parent = current(aggregate, child).ok_or(DispatchRefusal::ParentOver)?;
    let kind = kind_of_child(aggregate, parent)?;
    check_brief(&child.brief)?;
    let codebase = match kind {
        RunKind::Owner => child.codebase.or(aggregate.card.codebase),
        RunKind::Launcher | RunKind::Worker | RunKind::Issue => aggregate.card.codebase,
    };
    if codebase.is_some_and(|codebase| !taker.limits.codebases.contains_key(&codebase)) {
        return Err(DispatchRefusal::NoCodebase);
    }
    if !taker.limits.leave_room(codebase, true) {
        let full = taker.limits.free == Some(0)
            || codebase.is_some_and(|codebase| {
                let limits = taker.limits.codebases.get(&codebase);
                limits.is_some_and(|limits| limits.free == Some(0))
            });
        return Err(if full {
            DispatchRefusal::NoSlot
        } else {
            DispatchRefusal::Paused
        });
    }
    let new = NewRun {
        kind,
        parent: Some(parent.id),
        codebase,
        model: child.model.clone(),
        effort: child.effort.clone(),
    };
    let mut draft = Draft::of(aggregate, now);
    draft.card.codebase = codebase;
    let (run, _) = start::new(&mut draft, taker, &new, ids).ok_or(DispatchRefusal::NoSlot)?;
    draft.texts.push(RunText {
        run,
        epoch: Epoch::NONE,
        body: child.brief.clone(),
    });
    let claimed = start::claimed(&draft, run, Woke::Dispatched).ok_or(DispatchRefusal::NoSlot)?;
    Ok((draft.finish(), claimed))
}

/// Returns the run that sends, when the attempt is its current one and runs.
fn current<'a>(aggregate: &'a Aggregate, child: &Child) -> Option<&'a Run> {
    let run = aggregate.run(child.parent.run)?;
    match judge(&run.fence(), &child.parent) {
        Verdict::Running => Some(run),
        Verdict::Asked | Verdict::Over | Verdict::Stale => None,
    }
}

fn kind_of_child(aggregate: &Aggregate, parent: &Run) -> Result<RunKind, DispatchRefusal> {
    match parent.kind {
        RunKind::Launcher if aggregate.card.owner.is_some() => Err(DispatchRefusal::HasOwner),
        RunKind::Launcher => Ok(RunKind::Owner),
        RunKind::Owner => Ok(RunKind::Worker),
        RunKind::Worker | RunKind::Issue => Err(DispatchRefusal::TooDeep),
    }
}

fn check_brief(brief: &str) -> Result<(), DispatchRefusal> {
    if brief.trim().is_empty() || brief.len() > MAX_TURN_BYTES {
        return Err(DispatchRefusal::BadBrief {
            bytes: brief.len(),
            limit_bytes: MAX_TURN_BYTES,
        });
    }
    Ok(())
}
