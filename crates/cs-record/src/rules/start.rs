//! The first and every later attempt of a run.

use cs_fence::TokenHash;
use cs_journal::{ClaimedRun, Woke};
use cs_model::{CodebaseId, Epoch, IdSource, RunId, RunKind, RunState};

use super::Taker;
use crate::Run;
use crate::aggregate::Draft;

/// A run that is to be made.
pub(super) struct NewRun {
    pub(super) kind: RunKind,
    pub(super) parent: Option<RunId>,
    pub(super) codebase: Option<CodebaseId>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
}

/// Makes a run with its first attempt; an owner becomes the card's.
pub(super) fn new(
    draft: &mut Draft<'_>,
    taker: &Taker<'_>,
    new: &NewRun,
    ids: &dyn IdSource,
) -> Option<(RunId, Epoch)> {
    let (id, epoch) = (RunId::from_uuid(ids.uuid_v7()), Epoch::NONE.next()?);
    if new.kind == RunKind::Owner {
        draft.card.owner = Some(id);
    }
    draft.runs.push(Run {
        id,
        card: draft.card.id,
        kind: new.kind,
        parent: new.parent,
        codebase: new.codebase,
        model: new.model.clone(),
        effort: new.effort.clone(),
        state: RunState::Running,
        epoch,
        token: token(taker, id, epoch),
        machine: taker.machine,
        agent: draft.card.agent.clone(),
        process: None,
        left_behind: None,
        started_at: draft.now,
        resumed_at: None,
        ended_at: None,
        again_at: None,
        failure: None,
        failed_because: None,
        failures_in_row: 0,
        tries: 0,
        starts: 1,
        settled: Epoch::NONE,
        given: None,
        read_back: false,
        handed_back_at: None,
        fresh: false,
        used: None,
    });
    Some((id, epoch))
}

/// Gives a run its next attempt. A child that goes on is read back again when it ends.
pub(super) fn again(draft: &mut Draft<'_>, taker: &Taker<'_>, id: RunId) -> Option<(RunId, Epoch)> {
    let now = draft.now;
    let agent = draft.card.agent.clone();
    let chosen = (draft.card.model.clone(), draft.card.effort.clone());
    let run = draft.run_mut(id)?;
    run.epoch = run.epoch.next()?;
    run.token = token(taker, id, run.epoch);
    run.state = RunState::Running;
    run.machine = taker.machine;
    run.agent = agent;
    if run.parent.is_none() {
        // What was chosen for the card; a run that was sent keeps what its parent chose.
        (run.model, run.effort) = chosen;
    }
    run.resumed_at = Some(now);
    run.ended_at = None;
    run.again_at = None;
    run.starts = run.starts.saturating_add(1);
    run.given = None;
    run.read_back = false;
    Some((id, run.epoch))
}

fn token(taker: &Taker<'_>, run: RunId, epoch: Epoch) -> TokenHash {
    taker.request.seed.for_run(run, epoch).hash()
}

/// Returns the row of the receipt.
pub(super) fn claimed(draft: &Draft<'_>, run: RunId, woke: Woke) -> Option<ClaimedRun> {
    let run = draft.runs.iter().find(|row| row.id == run)?;
    Some(ClaimedRun {
        run: run.id,
        card: run.card,
        kind: run.kind,
        epoch: run.epoch,
        started_at: run.started_at,
        resumed_at: run.resumed_at,
        woke,
        agent: run.agent.as_str().to_owned(),
        model: run.model.clone(),
        effort: run.effort.clone(),
        codebase: run.codebase,
        fresh: run.fresh,
    })
}
