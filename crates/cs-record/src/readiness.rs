//! What a card is ready for.

use cs_model::{
    AskState, AskTo, CardState, Ending, Opening, RunId, RunKind, RunState, Time, TurnSeq, TurnState,
};

use crate::{Aggregate, Ask, Readiness, ReadyFor, Run, TurnMark};

/// Says what a card is ready for, from the aggregate alone. It is stored after every decision; takes select by it and
/// decide by it again under the lock.
///
/// * Only an open card without a landing under way is ready for anything, and nothing of it before its start time.
/// * A run whose process is on the record is ready for nothing, whatever its state: only the proof of its end, which is
///   [`clear_process`](cs_fence::AttemptRecord::clear_process), lets its next attempt start. One tree, one agent.
/// * Pending turns go before the wait of a retry: somebody has spoken. Live workers do not keep them waiting.
/// * A run that asked goes on as soon as an answer is news to it; what is still open is named in its prompt. So does an owner that had
///   ended for good before it could settle its answer, once its card is open again.
/// * An owner is woken for a question of a child at once, and to read its children back when all of them have ended.
/// * Of several things the one that is due first counts; the next decision finds the others.
#[must_use]
pub fn readiness(aggregate: &Aggregate) -> Readiness {
    match next_step(aggregate) {
        Some(step) => Readiness {
            what: step.what,
            from: step.from,
        },
        None => Readiness {
            what: ReadyFor::Nothing,
            from: aggregate.card.updated_at,
        },
    }
}

/// A start that is due, or will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) what: ReadyFor,
    pub(crate) from: Time,
    /// The run that goes on; none when the take makes one.
    pub(crate) run: Option<RunId>,
}

/// Says which start of a card comes first.
pub(crate) fn next_step(aggregate: &Aggregate) -> Option<Step> {
    let card = &aggregate.card;
    if card.state != CardState::Open || aggregate.live_landing().is_some() {
        return None;
    }
    let others = aggregate.runs.iter().filter(|run| Some(run.id) != card.owner);
    let steps = speaker(aggregate)
        .into_iter()
        .chain(others.filter_map(|run| goes_on(aggregate, run)));
    let mut first = steps.min_by_key(|step| (step.from, step.what, step.run))?;
    first.from = first.from.max(card.not_before.unwrap_or(first.from));
    Some(first)
}

/// What the run that speaks with the person is to do: the owner, or before there is one the run that finds it.
fn speaker(aggregate: &Aggregate) -> Option<Step> {
    let Some(owner) = aggregate.owner() else {
        let launches = aggregate
            .runs
            .iter()
            .any(|run| run.kind == RunKind::Launcher && (run.goes_on() || run.process.is_some()));
        let waits = launches && aggregate.card.opening == Opening::Launcher;
        return if waits { None } else { turns(aggregate, None) };
    };
    if !is_free(owner) {
        return None;
    }
    turns(aggregate, Some(owner.id)).or_else(|| {
        let steps = if can_be_woken(owner) {
            [
                rearm(aggregate, owner),
                question(aggregate, owner),
                children(aggregate, owner),
            ]
        } else {
            [goes_on(aggregate, owner), None, None]
        };
        steps.into_iter().flatten().min_by_key(|step| step.from)
    })
}

/// Says whether nothing of a run is at work.
fn is_free(run: &Run) -> bool {
    run.state != RunState::Running && run.process.is_none()
}

fn turns(aggregate: &Aggregate, run: Option<RunId>) -> Option<Step> {
    let from = aggregate.pending().map(|turn| turn.said_at).min()?;
    Some(Step {
        what: ReadyFor::Turns,
        from,
        run,
    })
}

/// What a run is to do by itself.
fn goes_on(aggregate: &Aggregate, run: &Run) -> Option<Step> {
    if !is_free(run) {
        return None;
    }
    match run.state {
        RunState::Asked => rearm(aggregate, run),
        RunState::Ended(Ending::Failed | Ending::Interrupted) => run.again_at.map(|from| Step {
            what: ReadyFor::Resume,
            from,
            run: Some(run.id),
        }),
        RunState::Running
        | RunState::Ended(
            Ending::Finished | Ending::Stopped | Ending::Capped(_) | Ending::Blocked | Ending::Orphaned(_),
        ) => None,
    }
}

/// An answer to a question of a run that no attempt has settled.
fn rearm(aggregate: &Aggregate, run: &Run) -> Option<Step> {
    let news = |ask: &&Ask| ask.run == run.id && ask.state == AskState::Answered && !ask.delivered;
    let from = aggregate
        .asks
        .iter()
        .filter(news)
        .filter_map(|ask| ask.answered_at)
        .max()?;
    Some(Step {
        what: ReadyFor::Rearm,
        from,
        run: Some(run.id),
    })
}

/// A question of a child for the owner to settle.
fn question(aggregate: &Aggregate, owner: &Run) -> Option<Step> {
    let from = questions(aggregate, owner.id).map(|ask| ask.asked_at).min()?;
    Some(Step {
        what: ReadyFor::Rearm,
        from,
        run: Some(owner.id),
    })
}

/// The open questions of a run's children that it is to settle.
pub(crate) fn questions(aggregate: &Aggregate, parent: RunId) -> impl Iterator<Item = &Ask> {
    let mine = move |ask: &&Ask| aggregate.children(parent).any(|child| child.id == ask.run);
    let open = |ask: &&Ask| ask.state == AskState::Open && ask.to == AskTo::Parent;
    aggregate.asks.iter().filter(open).filter(mine)
}

/// The children for the owner to read back: all have ended, and some are unread.
fn children(aggregate: &Aggregate, owner: &Run) -> Option<Step> {
    let from = ended_children(aggregate, owner.id)?
        .iter()
        .filter_map(|child| child.ended_at)
        .max()?;
    Some(Step {
        what: ReadyFor::Rearm,
        from,
        run: Some(owner.id),
    })
}

/// Returns the children that a run has not read back, oldest first, once all of them have ended; nothing while one goes on.
pub(crate) fn ended_children(aggregate: &Aggregate, parent: RunId) -> Option<Vec<&Run>> {
    let mut children: Vec<&Run> = aggregate.children(parent).filter(|run| !run.read_back).collect();
    children.sort_by_key(|run| (run.started_at, run.id));
    let over = children.iter().all(|run| !run.goes_on());
    (over && !children.is_empty()).then_some(children)
}

/// Says whether an owner that is not at work may be started for an answer or for what its children did: unless it goes on by itself.
/// One that has ended for good is woken only once its card is open again, which is for a person to say.
fn can_be_woken(owner: &Run) -> bool {
    match owner.state {
        RunState::Asked => true,
        RunState::Running => false,
        RunState::Ended(_) => owner.again_at.is_none(),
    }
}

/// Says whether a card is done, so that what waits for it may go on: landed or closed, or without a codebase, answered, and
/// waiting for nothing.
pub(crate) fn is_done(aggregate: &Aggregate) -> bool {
    let card = &aggregate.card;
    match card.state {
        CardState::Landed | CardState::Closed => true,
        CardState::Failed | CardState::Stopped => false,
        CardState::Open => {
            let answered = match aggregate.owner() {
                Some(owner) => owner.state == RunState::Ended(Ending::Finished),
                None => card.last_seq > TurnSeq::START && aggregate.turns.iter().all(is_settled),
            };
            card.codebase.is_none()
                && answered
                && next_step(aggregate).is_none()
                && aggregate.open_asks() == 0
                && aggregate.runs.iter().all(|run| !run.goes_on())
        }
    }
}

fn is_settled(turn: &TurnMark) -> bool {
    turn.state == TurnState::Settled
}
