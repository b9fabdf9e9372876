//! A landing is accepted, given back, or over.

use cs_fence::LandingAttempt;
use cs_model::{
    AskId, AskState, Author, CardState, Ending, Epoch, IdSource, LandingId, LandingState, MachineId,
    RunState, Time, TurnId, TurnState,
};

use crate::aggregate::{Draft, Words};
use crate::{AcceptLanding, Aggregate, Ask, FencedLanding, Landing, LandingResult, Refusal, Writes};

/// Writes the landing that a daemon takes, and accepts the newest open offer of the card with it. The same landing again
/// changes nothing.
///
/// # Errors
/// Refused while an agent works on the card or will go on by itself, while a landing is under way, for a card that is over,
/// has no codebase, or was never worked on.
pub fn accept_landing(
    aggregate: &Aggregate,
    accept: &AcceptLanding,
    now: Time,
) -> Result<(Writes, Landing), Refusal> {
    if let Some(landing) = aggregate
        .landings
        .iter()
        .find(|landing| landing.id == accept.landing)
    {
        return Ok((Writes::default(), landing.clone()));
    }
    check_acceptable(aggregate)?;
    let card = &aggregate.card;
    let short = || card.id.short();
    let codebase = card
        .codebase
        .ok_or_else(|| Refusal::NoCodebase { card: short() })?;
    let machine = card
        .machine
        .ok_or_else(|| Refusal::NeverWorkedOn { card: short() })?;
    let mut draft = Draft::of(aggregate, now);
    let offer = draft
        .asks
        .iter_mut()
        .filter(|ask| ask.state == AskState::Open && ask.offer.is_some())
        .max_by_key(|ask| (ask.asked_at, ask.id));
    let offer = offer.map(|ask| {
        ask.state = AskState::Accepted;
        ask.clone()
    });
    let landing = Landing {
        id: accept.landing,
        card: card.id,
        codebase,
        ask: offer.as_ref().map(|ask| ask.id),
        message: offer.and_then(|ask| ask.offer).and_then(|offer| offer.message),
        state: LandingState::Accepted,
        epoch: Epoch::NONE,
        token: None,
        machine,
        accepted_by: accept.person.clone(),
        accepted_at: now,
        commit: None,
        result: None,
        ended_at: None,
    };
    draft.landings.push(landing.clone());
    Ok((draft.finish(), landing))
}

fn check_acceptable(aggregate: &Aggregate) -> Result<(), Refusal> {
    let card = &aggregate.card;
    let refused = |cure| Refusal::CardState {
        card: card.id.short(),
        state: card.state,
        cure,
    };
    match card.state {
        CardState::Open | CardState::Failed | CardState::Stopped => {}
        CardState::Landed => return Err(refused("its work has landed already")),
        CardState::Closed => return Err(refused("it is over")),
    }
    check_nothing_moves(aggregate)
}

/// Refuses while an agent works on a card or will go on by itself, and while a landing is under way.
pub(super) fn check_nothing_moves(aggregate: &Aggregate) -> Result<(), Refusal> {
    let card = aggregate.card.id;
    if let Some(landing) = aggregate.live_landing() {
        return Err(Refusal::LandingUnderWay {
            card: card.short(),
            state: landing.state,
        });
    }
    let at_work = |run: &crate::Run| run.state == RunState::Running || run.again_at.is_some();
    if aggregate.runs.iter().any(at_work) {
        return Err(Refusal::AgentAtWork { card: card.short() });
    }
    Ok(())
}

/// Ends a running landing under its fence.
pub fn settle_landing(
    aggregate: &Aggregate,
    attempt: &LandingAttempt,
    result: &LandingResult,
    now: Time,
    ids: &dyn IdSource,
) -> (Writes, FencedLanding) {
    let Some(landing) = running(aggregate, attempt) else {
        return (Writes::default(), stale(aggregate, attempt));
    };
    let mut draft = Draft::of(aggregate, now);
    let offer = landing.ask;
    let id = TurnId::from_uuid(ids.uuid_v7());
    match result {
        LandingResult::Landed { commit, report } => {
            end_landing(&mut draft, attempt, LandingState::Landed, report, Some(commit));
            landed(&mut draft, offer, report);
            say(&mut draft, id, report, TurnState::Settled);
        }
        LandingResult::Conflict { report } => {
            end_landing(&mut draft, attempt, LandingState::Conflict, report, None);
            if !answer_offer(&mut draft, offer, report) {
                say(&mut draft, id, report, TurnState::Pending);
            }
        }
        LandingResult::Refused { report } => {
            end_landing(&mut draft, attempt, LandingState::Refused, report, None);
            reopen_offer(&mut draft, offer);
            say(&mut draft, id, report, TurnState::Settled);
        }
    }
    (draft.finish(), FencedLanding::Applied)
}

/// Gives a running landing back untouched; its next take gives it its next epoch.
pub fn release_landing(
    aggregate: &Aggregate,
    attempt: &LandingAttempt,
    now: Time,
) -> (Writes, FencedLanding) {
    if running(aggregate, attempt).is_none() {
        return (Writes::default(), stale(aggregate, attempt));
    }
    (
        accept_again(aggregate, attempt.landing, now),
        FencedLanding::Applied,
    )
}

/// Gives back a running landing of which its machine has lost every trace: there is no life of it that could say so itself.
pub fn hand_back_landing(
    aggregate: &Aggregate,
    machine: MachineId,
    landing: LandingId,
    epoch: Epoch,
    now: Time,
) -> (Writes, bool) {
    let is_lost = aggregate.landings.iter().any(|known| {
        known.id == landing
            && known.machine == machine
            && known.epoch == epoch
            && known.state == LandingState::Running
    });
    if is_lost {
        (accept_again(aggregate, landing, now), true)
    } else {
        (Writes::default(), false)
    }
}

fn accept_again(aggregate: &Aggregate, landing: LandingId, now: Time) -> Writes {
    let mut draft = Draft::of(aggregate, now);
    for known in draft.landings.iter_mut().filter(|known| known.id == landing) {
        known.state = LandingState::Accepted;
    }
    draft.finish()
}

/// Returns the landing when this is its current life.
fn running<'a>(aggregate: &'a Aggregate, attempt: &LandingAttempt) -> Option<&'a Landing> {
    aggregate.landings.iter().find(|landing| {
        landing.id == attempt.landing
            && landing.state == LandingState::Running
            && landing.epoch == attempt.epoch
            && landing.token == Some(attempt.token.hash())
    })
}

fn stale(aggregate: &Aggregate, attempt: &LandingAttempt) -> FencedLanding {
    let found = aggregate
        .landings
        .iter()
        .find(|landing| landing.id == attempt.landing);
    FencedLanding::Stale {
        landing: attempt.landing,
        row: found.map(|landing| (landing.epoch, landing.state)),
    }
}

fn end_landing(
    draft: &mut Draft<'_>,
    attempt: &LandingAttempt,
    state: LandingState,
    report: &str,
    commit: Option<&String>,
) {
    let now = draft.now;
    for landing in draft
        .landings
        .iter_mut()
        .filter(|landing| landing.id == attempt.landing)
    {
        landing.state = state;
        landing.result = Some(report.to_owned());
        landing.commit = commit.cloned();
        landing.ended_at = Some(now);
    }
}

/// The card's work is in its base: its runs are finished, its questions are void, and it is landed. An open card with turns
/// that came meanwhile stays open, so that they are not lost.
fn landed(draft: &mut Draft<'_>, offer: Option<AskId>, report: &str) {
    answer_offer(draft, offer, report);
    for ask in &mut draft.asks {
        if Some(ask.id) == offer {
            ask.delivered = true;
        } else if ask.state == AskState::Open {
            ask.state = AskState::Withdrawn;
        }
    }
    let live: Vec<_> = draft
        .runs
        .iter()
        .filter(|run| run.state == RunState::Asked)
        .map(|run| run.id)
        .collect();
    for run in live {
        draft.end_run(run, RunState::Ended(Ending::Finished));
    }
    let waiting = draft.turns.iter().any(|turn| turn.state == TurnState::Pending);
    let is_closed = draft.card.state == CardState::Closed;
    if !is_closed && (draft.card.state != CardState::Open || !waiting) {
        draft.card.state = CardState::Landed;
        draft.card.reason = None;
    }
}

/// Answers the offer with what came of it, when its run still waits for that; says whether it did.
fn answer_offer(draft: &mut Draft<'_>, offer: Option<AskId>, report: &str) -> bool {
    let now = draft.now;
    let Some((index, run)) = offer_row(draft, offer) else {
        return false;
    };
    let ask: &mut Ask = &mut draft.asks[index];
    ask.state = AskState::Answered;
    ask.answer = Some(report.to_owned());
    ask.answered_by = Some(Author::System);
    ask.answered_at = Some(now);
    run
}

fn reopen_offer(draft: &mut Draft<'_>, offer: Option<AskId>) {
    if let Some((index, waits)) = offer_row(draft, offer) {
        draft.asks[index].state = if waits {
            AskState::Open
        } else {
            AskState::Withdrawn
        };
    }
}

/// Finds the accepted offer and whether its run waits for it.
fn offer_row(draft: &Draft<'_>, offer: Option<AskId>) -> Option<(usize, bool)> {
    let index = draft
        .asks
        .iter()
        .position(|ask| Some(ask.id) == offer && ask.state == AskState::Accepted)?;
    let run = draft.asks[index].run;
    let waits = draft
        .runs
        .iter()
        .any(|row| row.id == run && row.state == RunState::Asked);
    Some((index, waits))
}

fn say(draft: &mut Draft<'_>, id: TurnId, report: &str, state: TurnState) {
    draft.say(Words {
        id,
        author: Author::System,
        body: report.to_owned(),
        state,
        run: None,
    });
}
