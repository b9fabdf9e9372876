//! When the faults have stopped, everything is over after a while, and nobody has helped.

use std::collections::BTreeSet;

use cs_model::{AskState, Author, CardId, CardState, RunState, TurnId, TurnState};
use cs_record::{Card, ReadyFor, Turn};
use cs_testkit::Rows;

use super::{Event, Invariant, Moment};
use crate::ledger;

/// Nothing runs, no ledger holds anything, and every turn was answered or waits with a reason that a person can read.
#[derive(Debug, Default)]
pub(super) struct EverythingIsOver {
    /// Turns that waited when a person stopped their card: they wait for the next message, also when a landing that was under way has
    /// come to its end since.
    stopped: BTreeSet<TurnId>,
}

impl Invariant for EverythingIsOver {
    fn name(&self) -> &'static str {
        "when the faults stop, everything comes to rest"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let rows = moment.rows;
        let unanswered = rows.turns.iter().filter(|turn| is_unanswered(turn));
        if let Event::Acted = moment.event {
            let stopped = unanswered.filter(|turn| is_on(turn, CardState::Stopped, rows));
            self.stopped.extend(stopped.map(|turn| turn.id));
            return Ok(());
        }
        let Event::AtRest = moment.event else {
            return Ok(());
        };
        at_rest(moment)?;
        let is_stopped =
            |turn: &&Turn| self.stopped.contains(&turn.id) && is_on(turn, CardState::Landed, rows);
        let mut silent = unanswered.filter(|turn| !is_stopped(turn));
        silent.try_for_each(|turn| has_reason(turn, rows))
    }
}

fn is_on(turn: &Turn, state: CardState, rows: &Rows) -> bool {
    let mut cards = rows.cards.iter();
    cards.any(|card| card.id == turn.card && card.state == state)
}

fn is_unanswered(turn: &Turn) -> bool {
    matches!(turn.author, Author::Person(_)) && turn.state != TurnState::Settled
}

/// Says whether a card waits for one that is not done, and may never be.
fn waits(card: CardId, rows: &Rows) -> bool {
    let undone = |id: CardId| rows.cards.iter().any(|other| other.id == id && !other.done);
    let mut waits = rows
        .dependencies
        .iter()
        .filter(|dependency| dependency.card == card);
    waits.any(|dependency| undone(dependency.after))
}

/// A turn that is not answered is on a card that says why it is over, or that waits for one that is not done.
fn has_reason(turn: &Turn, rows: &Rows) -> Result<(), String> {
    let Some(card) = rows.cards.iter().find(|card| card.id == turn.card) else {
        return Err(format!("turn {} is on no card", turn.id.short()));
    };
    let is_told = match card.state {
        CardState::Failed | CardState::Stopped => card.reason.is_some(),
        CardState::Closed => true,
        CardState::Open | CardState::Landed => waits(card.id, rows),
    };
    if is_told {
        return Ok(());
    }
    Err(format!(
        "turn {} is {}, and card {} is {}, ready for {:?}, and says {:?}",
        turn.id.short(),
        turn.state,
        card.id.short(),
        card.state,
        card.ready,
        card.reason
    ))
}

/// Says what is not over, if anything.
pub(crate) fn at_rest(moment: &Moment<'_>) -> Result<(), String> {
    let rows = moment.rows;
    let is_live = |run: &&cs_record::Run| run.state == RunState::Running || run.process.is_some();
    if let Some(run) = rows.runs.iter().find(is_live) {
        return Err(format!(
            "run {} is {} with {:?}",
            run.id.short(),
            run.state,
            run.process
        ));
    }
    if let Some(landing) = rows.landings.iter().find(|landing| !landing.state.is_over()) {
        return Err(format!("landing {} is {}", landing.id.short(), landing.state));
    }
    if let Some(ask) = rows.asks.iter().find(|ask| ask.state == AskState::Open) {
        return Err(format!("question {} is open", ask.id.short()));
    }
    let is_ready = |card: &&Card| card.ready.what != ReadyFor::Nothing && !waits(card.id, rows);
    if let Some(card) = rows.cards.iter().find(is_ready) {
        return Err(format!("card {} is ready for {:?}", card.id.short(), card.ready));
    }
    for machine in moment.machines {
        if !machine.is_up() {
            return Err(format!("machine {} has no daemon", machine.index));
        }
        if let Some(card) = machine.cards_at_work().first() {
            return Err(format!("an agent still works on card {}", card.short()));
        }
        if let Some(card) = machine.card_being_verified() {
            return Err(format!("a verify of card {} still works", card.short()));
        }
        let said = ledger::read(machine)?;
        if !said.is_empty() {
            return Err(format!("the ledger of machine {} holds {said:?}", machine.index));
        }
    }
    Ok(())
}
