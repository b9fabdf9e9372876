//! A card is over, or its work is given free.

use cs_model::{AskState, CardState, Ending, Opening, RunState, Time};

use super::landing::check_nothing_moves;
use crate::aggregate::Draft;
use crate::{Aggregate, HandBack, Refusal, Writes};

/// Closes a card for good. Closing twice changes nothing.
///
/// # Errors
/// Refused while an agent works on it, is not proven gone or will go on by itself, and while a landing is under way.
pub fn close_card(aggregate: &Aggregate, now: Time) -> Result<Writes, Refusal> {
    if aggregate.card.state == CardState::Closed {
        return Ok(Writes::default());
    }
    if aggregate.card.state == CardState::Open {
        check_nothing_moves(aggregate)?;
    }
    if aggregate.runs.iter().any(|run| run.process.is_some()) {
        let card = aggregate.card.id.short();
        return Err(Refusal::AgentAtWork { card });
    }
    let mut draft = Draft::of(aggregate, now);
    for ask in &mut draft.asks {
        if ask.state == AskState::Open {
            ask.state = AskState::Withdrawn;
        }
    }
    let asked: Vec<_> = draft
        .runs
        .iter()
        .filter(|run| run.state == RunState::Asked)
        .map(|run| run.id)
        .collect();
    for run in asked {
        draft.end_run(run, RunState::Ended(Ending::Finished));
    }
    draft.card.state = CardState::Closed;
    Ok(draft.finish())
}

/// Gives the work of a card free for another route, or for any machine.
///
/// # Errors
/// Refused while an agent works on it or a landing is under way, for a closed card, and for any machine when it has a codebase.
pub fn hand_back(aggregate: &Aggregate, hand_back: &HandBack, now: Time) -> Result<Writes, Refusal> {
    let card = &aggregate.card;
    if card.state == CardState::Closed {
        return Err(Refusal::CardState {
            card: card.id.short(),
            state: card.state,
            cure: "it is over, send the message to a new card",
        });
    }
    let at_work = |run: &crate::Run| run.state == RunState::Running || run.process.is_some();
    if aggregate.runs.iter().any(at_work) {
        return Err(Refusal::AgentAtWork {
            card: card.id.short(),
        });
    }
    if let Some(landing) = aggregate.live_landing() {
        return Err(Refusal::LandingUnderWay {
            card: card.id.short(),
            state: landing.state,
        });
    }
    if hand_back.to_any_machine && card.codebase.is_some() && card.machine.is_some() {
        return Err(Refusal::HasTree {
            card: card.id.short(),
        });
    }
    let mut draft = Draft::of(aggregate, now);
    if let Some(agent) = &hand_back.agent {
        draft.card.agent = agent.clone();
    }
    if hand_back.to_any_machine {
        draft.card.machine = None;
    }
    draft.card.opening = Opening::Owner;
    let owner = draft.card.owner;
    for run in draft.runs.iter_mut().filter(|run| Some(run.id) == owner) {
        run.handed_back_at = Some(now);
        run.fresh = true;
    }
    Ok(draft.finish())
}
