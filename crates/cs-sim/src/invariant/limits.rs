//! Invariants 16 and 17: what is not due does not start, and no machine runs more than it may.

use std::collections::{BTreeMap, BTreeSet};

use cs_model::CardId;

use super::{Event, Invariant, Moment};

/// Invariant 16, of cards that wait for others. A person may let one go on all the same.
#[derive(Debug, Default)]
pub(super) struct WhatWaitsWaits {
    after: BTreeMap<CardId, CardId>,
}

impl Invariant for WhatWaitsWaits {
    fn name(&self) -> &'static str {
        "16. a card starts nothing before the card that it waits for is done"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Planned { card, after } = moment.event {
            match after {
                Some(after) => self.after.insert(*card, *after),
                // Somebody wants it tried now.
                None => self.after.remove(card),
            };
        }
        let Event::Claimed { receipt, .. } = moment.event else {
            return Ok(());
        };
        for row in &receipt.runs {
            let Some(after) = self.after.remove(&row.card) else {
                continue;
            };
            let earlier = moment.rows.cards.iter().find(|card| card.id == after);
            if !earlier.is_some_and(|card| card.done) {
                return Err(format!(
                    "card {} was taken before card {}",
                    row.card.short(),
                    after.short()
                ));
            }
        }
        Ok(())
    }
}

/// Invariant 17, of the slots of a machine. A machine that lost its ledger may not know of what it was told to end.
#[derive(Debug, Default)]
pub(super) struct SlotsHold {
    without_ledger: BTreeSet<usize>,
}

impl Invariant for SlotsHold {
    fn name(&self) -> &'static str {
        "17. a machine runs no more agents at once than it has slots"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::LedgerLost { machine } = moment.event {
            self.without_ledger.insert(*machine);
        }
        let Event::Go {
            machine: index,
            attempt,
            ..
        } = moment.event
        else {
            return Ok(());
        };
        let Some(machine) = moment.machines.get(*index) else {
            return Ok(());
        };
        let live = machine
            .processes()
            .values()
            .filter(|execution| execution.is_live())
            .count();
        let slots = usize::try_from(machine.slots).unwrap_or(usize::MAX);
        if live >= slots && !self.without_ledger.contains(index) {
            return Err(format!(
                "{attempt} starts on machine {index}, where {live} of {slots} run"
            ));
        }
        Ok(())
    }
}
