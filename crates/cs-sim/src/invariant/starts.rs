//! Invariants 6 and 7: what must be before an agent gets its prompt, and before its tree is touched.

use std::collections::BTreeMap;

use cs_model::{CardId, Epoch, RunId};
use cs_record::Scope;

use super::{Event, Invariant, Moment};
use crate::ledger;

/// Invariant 6. Each reading of a row has its place among the changes of admission: what has been closed since before the reading, and
/// still is, lets nothing start.
#[derive(Debug, Default)]
pub(super) struct NothingUnseen {
    place: u64,
    read_again: BTreeMap<(RunId, Epoch), u64>,
    paused: BTreeMap<Scope, u64>,
    full: BTreeMap<usize, u64>,
}

impl Invariant for NothingUnseen {
    fn name(&self) -> &'static str {
        "6. no agent gets a prompt before its shim is registered, its row was read again and admission is open"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        self.place += 1;
        let place = self.place;
        match moment.event {
            Event::ReadAgain { attempt } => {
                self.read_again.insert((attempt.run, attempt.epoch), place);
            }
            Event::Paused { scope } => _ = self.paused.insert(*scope, place),
            Event::Unpaused { scope } => _ = self.paused.remove(scope),
            Event::Full {
                machine,
                is_full: true,
            } => _ = self.full.insert(*machine, place),
            Event::Full { machine, .. } => _ = self.full.remove(machine),
            _ => {}
        }
        let Event::Go {
            machine,
            attempt,
            card,
        } = moment.event
        else {
            return Ok(());
        };
        let Some(read) = self.read_again.get(&(attempt.run, attempt.epoch)) else {
            return Err(format!("the row of {attempt} was not read again"));
        };
        if let Some(closed) = self.closed(moment, *machine, *card, *read) {
            return Err(format!("{attempt} starts on machine {machine}, where {closed}"));
        }
        let Some(machine) = moment.machines.get(*machine) else {
            return Ok(());
        };
        let said = ledger::read(machine)?;
        let is_known = said.runs.contains(&(attempt.run, attempt.epoch));
        if !is_known || said.starting.contains(&(attempt.run, attempt.epoch)) {
            return Err(format!("{attempt} is not registered in the ledger"));
        }
        Ok(())
    }
}

impl NothingUnseen {
    /// Says what has let nothing start there since before a reading.
    fn closed(&self, moment: &Moment<'_>, machine: usize, card: CardId, read: u64) -> Option<String> {
        let is_older = |place: &u64| *place < read;
        if self.full.get(&machine).is_some_and(is_older) {
            return Some("the disk is full".to_owned());
        }
        let id = moment.machines.get(machine)?.id;
        let codebase = moment.rows.cards.iter().find(|row| row.id == card)?.codebase;
        let covers = |scope: &Scope| match scope {
            Scope::Everything => true,
            Scope::Machine(other) => *other == id,
            Scope::Codebase(other) => Some(*other) == codebase,
        };
        let mut paused = self.paused.iter();
        let paused = paused.find(|(scope, place)| covers(scope) && is_older(place));
        paused.map(|(scope, _)| format!("{scope:?} is paused"))
    }
}

/// Invariant 7, of trees.
#[derive(Debug, Default)]
pub(super) struct TreeIsFree;

impl Invariant for TreeIsFree {
    fn name(&self) -> &'static str {
        "7. a tree is touched only when nothing of an agent works in it"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::TreeTouched { machine, card, why } = moment.event
            && let Some(machine) = moment.machines.get(*machine)
            && machine.cards_at_work().contains(card)
        {
            return Err(format!(
                "the tree of card {} was {why} while an agent works in it",
                card.short()
            ));
        }
        Ok(())
    }
}
