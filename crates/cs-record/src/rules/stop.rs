//! A person stops a card.

use cs_model::{AskState, CardState, Ending, LandingState, Person, RunId, RunState, Time, TurnState};

use crate::aggregate::Draft;
use crate::{Aggregate, Writes};

/// Ends the live runs of a card at once, hands back the turns that they hold, withdraws their questions and refuses a landing
/// that no machine has begun. Processes stay on the rows until their end is proven. Says whether anything was live or pending.
///
/// A landing that is running goes on: its base may have moved already. A landed or closed card stays as it is, and so does a failed or
/// stopped one of which nothing is live.
#[must_use]
pub fn stop_card(aggregate: &Aggregate, person: &Person, now: Time) -> (Writes, bool) {
    let state = aggregate.card.state;
    let goes_on: Vec<RunId> = aggregate
        .runs
        .iter()
        .filter(|run| run.goes_on())
        .map(|run| run.id)
        .collect();
    let accepted = aggregate
        .landings
        .iter()
        .any(|landing| landing.state == LandingState::Accepted);
    let is_live = !goes_on.is_empty() || accepted;
    match state {
        CardState::Landed | CardState::Closed => return (Writes::default(), false),
        CardState::Failed | CardState::Stopped if !is_live => return (Writes::default(), false),
        CardState::Open | CardState::Failed | CardState::Stopped => {}
    }
    let anything = is_live || !aggregate.turns.is_empty() || aggregate.live_landing().is_some();
    let mut draft = Draft::of(aggregate, now);
    for run in goes_on {
        draft.end_run(run, RunState::Ended(Ending::Stopped));
        if let Some(row) = draft.run_mut(run) {
            row.failure = None;
            row.failed_because = None;
        }
        draft.move_leased(run, TurnState::Pending);
        draft.withdraw_asks(run);
    }
    refuse_landing(&mut draft);
    draft.card.state = CardState::Stopped;
    draft.card.reason = Some(format!("stopped by {person}"));
    (draft.finish(), anything)
}

/// Refuses the landing that no machine has begun, and withdraws its offer.
fn refuse_landing(draft: &mut Draft<'_>) {
    let now = draft.now;
    let accepted = draft
        .landings
        .iter_mut()
        .find(|landing| landing.state == LandingState::Accepted);
    let Some(landing) = accepted else {
        return;
    };
    landing.state = LandingState::Refused;
    landing.result = Some("stopped".to_owned());
    landing.ended_at = Some(now);
    let offer = landing.ask;
    for ask in draft
        .asks
        .iter_mut()
        .filter(|ask| Some(ask.id) == offer && ask.state == AskState::Accepted)
    {
        ask.state = AskState::Withdrawn;
    }
}
