//! What never goes back, row by row, in the words in which the databases refuse it.

use cs_model::{AskState, LandingState, RunState, TurnState};
use cs_record::{Ask, Change, Landing, Run, StoreError, TurnMark, Writes};

use super::constraints::refuse;

/// Checks every change by itself.
pub(super) fn check(writes: &Writes) -> Result<(), StoreError> {
    writes.runs.iter().try_for_each(run)?;
    writes.turns.iter().try_for_each(turn)?;
    writes.asks.iter().try_for_each(ask)?;
    writes.landings.iter().try_for_each(landing)
}

fn run(Change { was, now }: &Change<Run>) -> Result<(), StoreError> {
    let same_epoch = now.epoch == was.epoch;
    if now.epoch < was.epoch || (same_epoch && now.token != was.token) {
        return refuse(format!("the epoch of run {} does not grow", now.id));
    }
    let at_work_again = was.state != RunState::Running && now.state != was.state && now.state.is_live();
    if same_epoch && at_work_again {
        return refuse("a run that has asked or ended is at work again only under a new epoch");
    }
    if !same_epoch && (was.state == RunState::Running || was.process.is_some()) {
        return refuse("a run gets a new epoch only when its attempt is over and its process proven gone");
    }
    if now.settled < was.settled || (same_epoch && was.read_back && !now.read_back) {
        return refuse("what a run has settled, and that it was read back, stays until its next epoch");
    }
    Ok(())
}

fn turn(Change { was, now }: &Change<TurnMark>) -> Result<(), StoreError> {
    let stays = match was.state {
        TurnState::Pending => true,
        TurnState::Leased => now.run.is_none() || now.run == was.run,
        TurnState::Settled => now.state == was.state && now.run == was.run,
    };
    if !stays {
        return refuse("a settled turn stays settled, and one that a run holds goes to no other");
    }
    Ok(())
}

fn ask(Change { was, now }: &Change<Ask>) -> Result<(), StoreError> {
    let given = |ask: &Ask| {
        (
            ask.state,
            ask.answer.clone(),
            ask.answered_by.clone(),
            ask.answered_at,
        )
    };
    let is_taken_back = given(was) != given(now) || (was.delivered && !now.delivered);
    if was.state == AskState::Answered && is_taken_back {
        return refuse("an answer that was given stays, and so does that it was delivered");
    }
    Ok(())
}

fn landing(Change { was, now }: &Change<Landing>) -> Result<(), StoreError> {
    let same_epoch = now.epoch == was.epoch;
    if now.epoch < was.epoch || (same_epoch && now.token != was.token) {
        return refuse(format!("the epoch of landing {} does not grow", now.id));
    }
    if (&now.base, now.method) != (&was.base, was.method) {
        return refuse("a landing stays on the base for which it was accepted");
    }
    let is_changed = now.state != was.state;
    if is_changed && (was.state.is_over() || (same_epoch && now.state == LandingState::Running)) {
        return refuse("a landing runs again only under a new epoch, and never once it is over");
    }
    Ok(())
}
