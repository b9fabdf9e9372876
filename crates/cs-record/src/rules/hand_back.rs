//! The work of a card is given free.

use cs_model::{CardState, Opening, RunState, Time};

use crate::aggregate::Draft;
use crate::{Aggregate, HandBack, Refusal, Writes};

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
    if let Some(agent) = hand_back.agent.as_ref().filter(|agent| **agent != card.agent) {
        draft.card.agent = agent.clone();
        // Another agent names its models otherwise.
        (draft.card.model, draft.card.effort) = (None, None);
    }
    if hand_back.to_any_machine {
        draft.card.machine = None;
    }
    draft.card.opening = Opening::Owner;
    let owner = draft.card.owner;
    let may_start = |run: &crate::Run| Some(run.id) == owner || run.goes_on();
    for run in draft.runs.iter_mut().filter(|run| may_start(run)) {
        run.handed_back_at = Some(now);
        run.fresh = true;
    }
    Ok(draft.finish())
}
