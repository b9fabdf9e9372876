//! A card is over.

use cs_model::{AskState, CardState, Ending, RunState, Time};

use super::landing::check_nothing_moves;
use crate::aggregate::Draft;
use crate::{Aggregate, Refusal, Writes};

/// Closes a card for good. Closing twice changes nothing.
///
/// # Errors
/// Refused while an agent works on it, is not proven gone or will go on by itself, and while a landing is under way.
pub fn close_card(aggregate: &Aggregate, now: Time) -> Result<Writes, Refusal> {
    if aggregate.card.state == CardState::Closed {
        return Ok(Writes::default());
    }
    check_nothing_moves(aggregate)?;
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
