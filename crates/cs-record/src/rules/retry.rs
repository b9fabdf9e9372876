//! A person wants a card tried again.

use cs_model::{CardState, RunState, Time, TurnState};

use crate::aggregate::Draft;
use crate::{Aggregate, ReadyFor, Refusal, Writes};

/// Opens a failed or stopped card with new counts; makes what waits for its time, for other cards or for its route ready now, on a
/// parked route too, once. Says whether the card is ready for anything then.
///
/// # Errors
/// Refused for a landed or closed card.
pub fn retry_card(aggregate: &Aggregate, now: Time) -> Result<(Writes, bool), Refusal> {
    let card = &aggregate.card;
    let refused = |cure| Refusal::CardState {
        card: card.id.short(),
        state: card.state,
        cure,
    };
    match card.state {
        CardState::Open | CardState::Failed | CardState::Stopped => {}
        CardState::Landed => return Err(refused("its work has landed, send a message to go on")),
        CardState::Closed => return Err(refused("it is over, send the message to a new card")),
    }
    let mut draft = Draft::of(aggregate, now);
    open_again(&mut draft);
    for run in &mut draft.runs {
        run.again_at = run.again_at.map(|_| now);
    }
    draft.card.not_before = draft.card.not_before.filter(|from| *from <= now);
    draft.card.recovery = true;
    draft.waits_for.clear();
    let writes = draft.finish();
    let after = writes.cards.first().map_or(card, |change| &change.now);
    let ready = after.ready.what != ReadyFor::Nothing;
    if ready || card.state != CardState::Open {
        Ok((writes, ready))
    } else {
        Ok((Writes::default(), false))
    }
}

/// Opens a card that had failed, was stopped or has landed, with new counts of tries and starts; what a launcher held that
/// failed is pending again.
pub(super) fn open_again(draft: &mut Draft<'_>) {
    match draft.card.state {
        CardState::Open | CardState::Closed => return,
        CardState::Failed | CardState::Stopped | CardState::Landed => {}
    }
    draft.card.state = CardState::Open;
    draft.card.reason = None;
    count_anew(draft);
    let live: Vec<_> = draft
        .runs
        .iter()
        .filter(|run| run.state == RunState::Running || run.state == RunState::Asked)
        .map(|run| run.id)
        .collect();
    for turn in &mut draft.turns {
        if turn.state == TurnState::Leased && turn.run.is_none_or(|run| !live.contains(&run)) {
            turn.state = TurnState::Pending;
            turn.run = None;
        }
    }
}

/// Begins new counts of tries and starts: a person has looked at the card.
pub(super) fn count_anew(draft: &mut Draft<'_>) {
    for run in &mut draft.runs {
        run.tries = 0;
        run.starts = 0;
        run.failures_in_row = 0;
    }
}
