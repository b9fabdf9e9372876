//! A machine takes work: pending turns, answers, questions and children to read back, or a run that goes on.

use cs_journal::{ClaimRequest, ClaimedRun, Task, Woke};
use cs_model::{
    AskState, Ending, Epoch, IdSource, MachineId, Opening, RunId, RunKind, RunState, Time, TurnState,
};

use super::start::{self, NewRun};
use crate::aggregate::Draft;
use crate::readiness::{Step, ended_children, next_step, questions};
use crate::{Aggregate, Limits, ReadyFor, Run, Writes};

/// Who takes, what it can do, and what limits it.
#[derive(Debug, Clone, Copy)]
pub struct Taker<'a> {
    /// The machine.
    pub machine: MachineId,
    /// What it asks for.
    pub request: &'a ClaimRequest,
    /// What limits it now: less with each run that the same claim has started.
    pub limits: &'a Limits,
}

/// Starts the next attempt of the run that a card is ready for, when the machine asks for such work and may have it; nothing
/// otherwise.
///
/// The attempt of an owner, or of a launcher while there is no owner, gets all pending turns and those that a former attempt had
/// taken; an owner also gets the
/// questions of its children, and once all have ended, the children to read back. Every attempt gets the answers to its own
/// questions that no attempt has settled.
#[must_use]
pub fn take(
    aggregate: &Aggregate,
    taker: &Taker<'_>,
    now: Time,
    ids: &dyn IdSource,
) -> Option<(Writes, ClaimedRun)> {
    let card = &aggregate.card;
    let step = next_step(aggregate).filter(|step| step.from <= now)?;
    let parked = taker.limits.parked.contains(&card.agent);
    if !taker
        .limits
        .let_through(card, taker.machine, &taker.request.agents)
        || !aggregate.waits_for.is_empty()
        || !asks_for(&taker.request.task, aggregate, &step, parked)
    {
        return None;
    }
    let before = step.run.and_then(|run| aggregate.run(run));
    let mut draft = Draft::of(aggregate, now);
    let (run, epoch) = match before {
        Some(run) => start::again(&mut draft, taker, run.id)?,
        None => start::new(&mut draft, taker, &first_run(aggregate), ids)?,
    };
    draft.card.machine = Some(taker.machine);
    draft.card.recovery = false;
    let woke = hand_over(&mut draft, aggregate, before, (run, epoch));
    let claimed = start::claimed(&draft, run, woke)?;
    Some((draft.finish(), claimed))
}

/// Says whether a claim takes what a card is ready for.
fn asks_for(task: &Task, aggregate: &Aggregate, step: &Step, parked: bool) -> bool {
    let same = |target: &cs_journal::Target| {
        let run = aggregate.run(target.run);
        step.run == Some(target.run) && run.is_some_and(|run| run.epoch == target.after)
    };
    match task {
        Task::Turns => step.what == ReadyFor::Turns && !parked,
        Task::Rearms => step.what == ReadyFor::Rearm && !parked,
        Task::Resumes => step.what == ReadyFor::Resume && !parked,
        Task::Recovery => aggregate.card.recovery,
        Task::Resume(target) => step.what == ReadyFor::Resume && same(target) && !parked,
        Task::Activate(target) => {
            let owner = aggregate.card.owner == Some(target.run);
            owner && step.what != ReadyFor::Resume && same(target) && !parked
        }
        Task::Landings | Task::Child(_) => false,
    }
}

fn first_run(aggregate: &Aggregate) -> NewRun {
    let kind = match aggregate.card.opening {
        Opening::Owner => RunKind::Owner,
        Opening::Launcher => RunKind::Launcher,
    };
    NewRun {
        kind,
        parent: None,
        codebase: aggregate.card.codebase,
        model: aggregate.card.model.clone(),
        effort: aggregate.card.effort.clone(),
    }
}

/// Gives an attempt what it is to work on, and says what woke it.
fn hand_over(
    draft: &mut Draft<'_>,
    aggregate: &Aggregate,
    before: Option<&Run>,
    (run, epoch): (RunId, Epoch),
) -> Woke {
    let has_owner = draft.card.owner.is_some();
    let speaks = draft.run_mut(run).is_some_and(|run| match run.kind {
        RunKind::Owner => true,
        RunKind::Launcher => !has_owner,
        RunKind::Worker | RunKind::Issue => false,
    });
    let mut spoken = false;
    for turn in draft.turns.iter_mut().filter(|_| speaks) {
        if turn.state == TurnState::Pending {
            spoken = true;
            turn.state = TurnState::Leased;
            turn.run = Some(run);
        }
    }
    let asked: Vec<_> = questions(aggregate, run).map(|ask| ask.id).collect();
    let mut answers = Vec::new();
    for ask in &mut draft.asks {
        let is_news = ask.run == run && ask.state == AskState::Answered && !ask.delivered;
        if is_news {
            answers.push((ask.answered_at, ask.id));
        }
        if is_news || asked.contains(&ask.id) {
            ask.given = Some(epoch);
        }
    }
    answers.sort();
    let ended: Vec<RunId> = ended_children(aggregate, run)
        .map(|children| children.iter().map(|child| child.id).collect())
        .unwrap_or_default();
    for child in draft.runs.iter_mut().filter(|child| ended.contains(&child.id)) {
        child.given = Some(epoch);
    }
    let turns = |draft: &Draft<'_>| {
        let held = |turn: &&crate::TurnMark| turn.state == TurnState::Leased && turn.run == Some(run);
        Woke::Turns(draft.turns.iter().filter(held).map(|turn| turn.id).collect())
    };
    if spoken {
        return turns(draft);
    }
    match (before.map(|run| run.state), answers.last(), asked.first()) {
        (Some(RunState::Ended(Ending::Interrupted)), _, _) => Woke::Interrupted,
        (Some(RunState::Ended(Ending::Failed)), _, _) => Woke::Retry,
        (Some(RunState::Asked), Some((_, ask)), _) => Woke::Answer(*ask),
        (Some(_), _, Some(ask)) => Woke::Question(*ask),
        (Some(_), _, None) if !ended.is_empty() => Woke::Children(ended),
        (Some(RunState::Running | RunState::Asked | RunState::Ended(_)) | None, _, _) => turns(draft),
    }
}
