//! A landing is accepted, given back, or over.

use cs_fence::LandingAttempt;
use cs_model::{
    AskId, AskState, Author, CardState, Ending, Epoch, IdSource, LandingId, LandingState, MachineId,
    RunState, Time, TurnId, TurnState,
};

use super::send::check_base;
use crate::aggregate::{Draft, Words};
use crate::{
    AcceptLanding, Aggregate, Ask, Evidence, FencedLanding, Landing, LandingResult, Refusal, Writes,
};

/// Writes the landing that a daemon takes, and accepts the newest open offer of the card with it. The same landing again
/// changes nothing.
///
/// # Errors
/// Refused while an agent works on the card or will go on by itself, while a landing is under way, for a card that is over,
/// has no codebase, or was never worked on, and for a name of a branch that is too long.
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
    check_base(accept.onto.as_deref())?;
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
        base: accept.onto.clone().or_else(|| card.base.clone()),
        method: accept.method,
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
        evidence: None,
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
    if aggregate.runs.iter().any(|run| run.state == RunState::Running) {
        return Err(Refusal::AgentAtWork { card: card.short() });
    }
    if aggregate.runs.iter().any(|run| run.again_at.is_some()) {
        return Err(Refusal::ToBeTriedAgain { card: card.short() });
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
        LandingResult::Landed {
            commit,
            report,
            evidence,
        } => {
            let end = End::of(LandingState::Landed, report, evidence.as_ref());
            end_landing(&mut draft, attempt, end.at(commit));
            landed(&mut draft, offer, report);
            draft.card.landings_returned = 0;
            say(&mut draft, id, report, TurnState::Settled);
        }
        LandingResult::Conflict { report } => {
            end_landing(&mut draft, attempt, End::of(LandingState::Conflict, report, None));
            give_back(&mut draft, offer, id, report);
        }
        LandingResult::VerifyFailed { report, evidence } => {
            let end = End::of(LandingState::VerifyFailed, report, Some(evidence));
            end_landing(&mut draft, attempt, end);
            give_back(&mut draft, offer, id, report);
        }
        LandingResult::Published { report } => {
            end_landing(
                &mut draft,
                attempt,
                End::of(LandingState::Published, report, None),
            );
            reopen_offer(&mut draft, offer);
            say(&mut draft, id, report, TurnState::Settled);
        }
        LandingResult::Refused { report } => {
            end_landing(&mut draft, attempt, End::of(LandingState::Refused, report, None));
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

/// How a landing ends.
struct End<'a> {
    state: LandingState,
    report: &'a str,
    evidence: Option<&'a Evidence>,
    commit: Option<&'a str>,
}

impl<'a> End<'a> {
    const fn of(state: LandingState, report: &'a str, evidence: Option<&'a Evidence>) -> Self {
        Self {
            state,
            report,
            evidence,
            commit: None,
        }
    }

    const fn at(mut self, commit: &'a str) -> Self {
        self.commit = Some(commit);
        self
    }
}

fn end_landing(draft: &mut Draft<'_>, attempt: &LandingAttempt, end: End<'_>) {
    let now = draft.now;
    for landing in draft
        .landings
        .iter_mut()
        .filter(|landing| landing.id == attempt.landing)
    {
        landing.state = end.state;
        landing.result = Some(end.report.to_owned());
        landing.evidence = end.evidence.cloned();
        landing.commit = end.commit.map(str::to_owned);
        landing.ended_at = Some(now);
    }
}

/// So many landings in a row may fail without a word of a person; the result of the last one goes to the person.
pub const RETURNS_MAX: u32 = 3;

/// Who does something about a landing that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoesTo {
    /// The agent, by itself.
    Agent,
    /// The person: the agent had its tries.
    Person,
}

/// Says whom the result of a landing goes to that ended in a conflict or a failed verify, the so manieth in a row.
#[must_use]
pub const fn goes_to(in_row: u32) -> GoesTo {
    if in_row < RETURNS_MAX {
        GoesTo::Agent
    } else {
        GoesTo::Person
    }
}

/// Gives the work of a card back, to its agent as long as that is its own affair.
fn give_back(draft: &mut Draft<'_>, offer: Option<AskId>, id: TurnId, report: &str) {
    draft.card.landings_returned = draft.card.landings_returned.saturating_add(1);
    match goes_to(draft.card.landings_returned) {
        GoesTo::Agent => {
            if !answer_offer(draft, offer, report) {
                say(draft, id, report, TurnState::Pending);
            }
        }
        GoesTo::Person => {
            reopen_offer(draft, offer);
            let in_row = draft.card.landings_returned;
            let report = format!(
                "This was landing {in_row} in a row that failed without a word of yours, so no agent is started for it. Tell the agent \
                 what to do with `cs-panel send --card {} MESSAGE`, or accept the landing again.\n\n{report}",
                draft.card.id.short()
            );
            say(draft, id, &report, TurnState::Settled);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_failed_landing_in_a_row_goes_to_the_person() {
        let table: Vec<_> = (1..=5).map(goes_to).collect();
        assert_eq!(
            table,
            [
                GoesTo::Agent,
                GoesTo::Agent,
                GoesTo::Person,
                GoesTo::Person,
                GoesTo::Person
            ]
        );
    }
}
