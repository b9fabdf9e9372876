//! Invariants 6 and 7: what must be before an agent gets its prompt, and before its tree is touched.

use std::collections::BTreeSet;

use cs_model::{Epoch, RunId};

use super::{Event, Invariant, Moment};
use crate::ledger;

/// Invariant 6.
#[derive(Debug, Default)]
pub(super) struct NothingUnseen {
    read_again: BTreeSet<(RunId, Epoch)>,
}

impl Invariant for NothingUnseen {
    fn name(&self) -> &'static str {
        "6. no agent gets a prompt before its shim is registered and its row was read again"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::ReadAgain { attempt } = moment.event {
            self.read_again.insert((attempt.run, attempt.epoch));
        }
        let Event::Go { machine, attempt, .. } = moment.event else {
            return Ok(());
        };
        if !self.read_again.contains(&(attempt.run, attempt.epoch)) {
            return Err(format!("the row of {attempt} was not read again"));
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
