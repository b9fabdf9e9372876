//! When the faults have stopped, everything is over after a while.

use cs_model::{Author, CardState, RunState, TurnState};

use super::{Event, Invariant, Moment};
use crate::ledger;

/// Nothing runs, no ledger holds anything, and every turn was answered.
#[derive(Debug, Default)]
pub(super) struct EverythingIsOver;

impl Invariant for EverythingIsOver {
    fn name(&self) -> &'static str {
        "when the faults stop, everything comes to rest"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let Event::AtRest = moment.event else {
            return Ok(());
        };
        at_rest(moment)
    }
}

/// Says what is not over, if anything.
pub(crate) fn at_rest(moment: &Moment<'_>) -> Result<(), String> {
    let rows = moment.rows;
    if let Some(run) = rows
        .runs
        .iter()
        .find(|run| run.state == RunState::Running || run.process.is_some())
    {
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
    for turn in rows.turns.iter().filter(|turn| turn.state != TurnState::Settled) {
        let card = rows.cards.iter().find(|card| card.id == turn.card);
        let by_person = matches!(turn.author, Author::Person(_));
        if by_person && card.is_some_and(|card| card.state != CardState::Closed) {
            return Err(format!(
                "turn {} of card {} is {}, and the card is {:?}",
                turn.id.short(),
                turn.card.short(),
                turn.state,
                card.map(|card| (card.state, card.ready))
            ));
        }
    }
    for machine in moment.machines {
        if !machine.is_up() {
            return Err(format!("machine {} has no daemon", machine.index));
        }
        if let Some(card) = machine.cards_at_work().first() {
            return Err(format!("an agent still works on card {}", card.short()));
        }
        let said = ledger::read(machine)?;
        if !said.is_empty() {
            return Err(format!("the ledger of machine {} holds {said:?}", machine.index));
        }
    }
    Ok(())
}
