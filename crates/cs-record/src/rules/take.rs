//! A machine takes work: pending turns, answers, or a run that goes on.

use cs_fence::{TokenHash, TokenSeed};
use cs_journal::{Action, ClaimRequest, ClaimedRun, Woke};
use cs_model::{
    AskId, AskState, Ending, Epoch, IdSource, MachineId, RunId, RunKind, RunState, Time, TurnState,
};

use crate::aggregate::Draft;
use crate::store::Limits;
use crate::{Aggregate, Card, ReadyFor, Run, Writes, readiness};

/// Who takes, what it can do, and what limits it.
#[derive(Debug, Clone, Copy)]
pub struct Taker<'a> {
    /// The machine.
    pub machine: MachineId,
    /// What it asks for.
    pub request: &'a ClaimRequest,
    /// What limits it.
    pub limits: &'a Limits,
}

impl Taker<'_> {
    /// Says whether this machine may have the card at all: no pause, its codebase (WT-1), its tree, its route.
    fn may_have(&self, card: &Card) -> bool {
        !self.limits.paused
            && card
                .codebase
                .is_none_or(|codebase| self.limits.codebases.contains(&codebase))
            && card.machine.is_none_or(|machine| machine == self.machine)
            && self
                .request
                .agents
                .iter()
                .any(|agent| agent == card.agent.as_str())
    }
}

/// Starts the next attempt of the card's owner when the card is ready for what the machine asks for; nothing otherwise.
///
/// The attempt gets all pending turns, those that a former attempt had taken, and every answer that no attempt has settled.
#[must_use]
pub fn take(
    aggregate: &Aggregate,
    taker: &Taker<'_>,
    now: Time,
    ids: &dyn IdSource,
) -> Option<(Writes, ClaimedRun)> {
    let ready = readiness(aggregate);
    if !taker.may_have(&aggregate.card) || ready.from > now {
        return None;
    }
    match (taker.request.action, ready.what) {
        (Action::TakeTurns, ReadyFor::Turns)
        | (Action::TakeRearms, ReadyFor::Rearm)
        | (Action::TakeResumes, ReadyFor::Resume) => {}
        (
            Action::TakeTurns | Action::TakeRearms | Action::TakeResumes | Action::TakeLandings,
            ReadyFor::Nothing | ReadyFor::Turns | ReadyFor::Rearm | ReadyFor::Resume,
        ) => return None,
    }
    let news = news(aggregate);
    let mut draft = Draft::of(aggregate, now);
    let before = aggregate.owner().map(|run| run.state);
    let (run, epoch) = begin_attempt(&mut draft, taker, ids)?;
    for turn in draft
        .turns
        .iter_mut()
        .filter(|turn| turn.state == TurnState::Pending)
    {
        turn.state = TurnState::Leased;
        turn.run = Some(run);
    }
    for ask in draft.asks.iter_mut().filter(|ask| news.contains(&ask.id)) {
        ask.given = Some(epoch);
    }
    draft.card.machine = Some(taker.machine);
    draft.card.starts = draft.card.starts.saturating_add(1);
    let woke = woke(&draft, run, before, &news);
    let claimed = draft
        .runs
        .iter()
        .find(|row| row.id == run)
        .map(|row| claimed(&draft.card, row, woke))?;
    Some((draft.finish(), claimed))
}

/// Gives the owner its next epoch; makes it at the first take.
fn begin_attempt(draft: &mut Draft<'_>, taker: &Taker<'_>, ids: &dyn IdSource) -> Option<(RunId, Epoch)> {
    let now = draft.now;
    let agent = draft.card.agent.clone();
    let seed: &TokenSeed = &taker.request.seed;
    let token = |run, epoch| -> TokenHash { seed.for_run(run, epoch).hash() };
    let Some(owner) = draft.card.owner else {
        let (id, epoch) = (RunId::from_uuid(ids.uuid_v7()), Epoch::NONE.next()?);
        draft.card.owner = Some(id);
        draft.runs.push(Run {
            id,
            card: draft.card.id,
            kind: RunKind::Owner,
            state: RunState::Running,
            epoch,
            token: token(id, epoch),
            machine: taker.machine,
            agent,
            process: None,
            started_at: now,
            resumed_at: None,
            ended_at: None,
            again_at: None,
            failure: None,
            failed_because: None,
            failures_in_row: 0,
        });
        return Some((id, epoch));
    };
    let run = draft.run_mut(owner)?;
    run.epoch = run.epoch.next()?;
    run.token = token(owner, run.epoch);
    run.state = RunState::Running;
    run.machine = taker.machine;
    run.agent = agent;
    run.resumed_at = Some(now);
    run.ended_at = None;
    run.again_at = None;
    Some((owner, run.epoch))
}

/// Returns the asks whose answer no attempt has settled, oldest answer first.
fn news(aggregate: &Aggregate) -> Vec<AskId> {
    let mut news: Vec<_> = aggregate
        .asks
        .iter()
        .filter(|ask| {
            ask.state == AskState::Answered && !ask.delivered && Some(ask.run) == aggregate.card.owner
        })
        .map(|ask| (ask.answered_at, ask.id))
        .collect();
    news.sort();
    news.into_iter().map(|(_, id)| id).collect()
}

/// Says what woke the run: turns, else what it was before.
fn woke(draft: &Draft<'_>, run: RunId, before: Option<RunState>, news: &[AskId]) -> Woke {
    let turns = || {
        let held = draft
            .turns
            .iter()
            .filter(|turn| turn.state == TurnState::Leased && turn.run == Some(run));
        Woke::Turns(held.map(|turn| turn.id).collect())
    };
    let was_pending = |id| {
        let before = draft.before_turn(id);
        before.is_some_and(|turn| turn.state == TurnState::Pending)
    };
    if draft.turns.iter().any(|turn| was_pending(turn.id)) {
        return turns();
    }
    match (before, news.last()) {
        (Some(RunState::Asked), Some(ask)) => Woke::Answer(*ask),
        (Some(RunState::Ended(Ending::Interrupted)), _) => Woke::Interrupted,
        (Some(RunState::Ended(_)), _) => Woke::Retry,
        (Some(RunState::Running | RunState::Asked) | None, _) => turns(),
    }
}

fn claimed(card: &Card, run: &Run, woke: Woke) -> ClaimedRun {
    ClaimedRun {
        run: run.id,
        card: card.id,
        kind: run.kind,
        epoch: run.epoch,
        started_at: run.started_at,
        resumed_at: run.resumed_at,
        woke,
        agent: run.agent.as_str().to_owned(),
        codebase: card.codebase,
    }
}
