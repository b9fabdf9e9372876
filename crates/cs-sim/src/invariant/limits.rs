//! Invariants 16 and 17: what is not due does not start, and no machine runs more than it may.

use std::collections::{BTreeMap, BTreeSet};

use cs_model::{CardId, CodebaseId, Epoch, MachineId, RunId, RunState, Time};
use cs_record::Scope;

use super::{Event, Invariant, Moment};

/// Invariant 16. A person may let a card go on all the same.
#[derive(Debug, Default)]
pub(super) struct WhatWaitsWaits {
    plans: BTreeMap<CardId, (Option<CardId>, Option<Time>)>,
}

impl Invariant for WhatWaitsWaits {
    fn name(&self) -> &'static str {
        "16. a card starts nothing before its time, nor before the card that it waits for is done"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Planned {
            card,
            after,
            not_before,
        } = moment.event
        {
            // Without either somebody wants it tried now.
            self.plans.insert(*card, (*after, *not_before));
        }
        let Event::Claimed { receipt, .. } = moment.event else {
            return Ok(());
        };
        for row in &receipt.runs {
            let Some((after, not_before)) = self.plans.remove(&row.card) else {
                continue;
            };
            let card = row.card.short();
            if let Some(time) = not_before.filter(|time| moment.now < *time) {
                return Err(format!("card {card} was taken at {}, before {time}", moment.now));
            }
            let earlier = after.and_then(|after| moment.rows.cards.iter().find(|card| card.id == after));
            if let Some(earlier) = earlier.filter(|card| !card.done) {
                return Err(format!(
                    "card {card} was taken before card {}",
                    earlier.id.short()
                ));
            }
        }
        Ok(())
    }
}

/// Invariant 17, of the limits that people set on the record.
#[derive(Debug, Default)]
pub(super) struct LimitsHold {
    limits: BTreeMap<Scope, u32>,
}

impl Invariant for LimitsHold {
    fn name(&self) -> &'static str {
        "17. no more runs are live than a limit says when one is taken"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Limited { scope, most } = moment.event {
            self.limits.insert(*scope, *most);
        }
        let Event::Claimed {
            machine,
            receipt,
            is_new: true,
            ..
        } = moment.event
        else {
            return Ok(());
        };
        for (scope, most) in &self.limits {
            let covers = |on: MachineId, codebase: Option<CodebaseId>| match scope {
                Scope::Everything => true,
                Scope::Machine(other) => *other == on,
                Scope::Codebase(other) => Some(*other) == codebase,
            };
            let took = receipt.runs.iter().any(|row| covers(*machine, row.codebase));
            let runs = moment
                .rows
                .runs
                .iter()
                .filter(|run| covers(run.machine, run.codebase));
            let live = runs.filter(|run| run.state == RunState::Running || run.process.is_some());
            let live = u32::try_from(live.count()).unwrap_or(u32::MAX);
            if took && live > *most {
                return Err(format!(
                    "{live} runs are live in {scope:?}, which may have {most}"
                ));
            }
        }
        Ok(())
    }
}

/// Invariant 17, of the slots of a machine. One that has lost its ledger does not know of what it was told to end before: there only
/// agents of present attempts count.
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
        let knows_all = !self.without_ledger.contains(index);
        let is_present = |key: &(RunId, Epoch)| {
            let mut runs = moment.rows.runs.iter();
            runs.any(|run| (run.id, run.epoch) == *key && run.state == RunState::Running)
        };
        let at_work = machine.attempts_at_work();
        let live = at_work.keys().filter(|key| knows_all || is_present(key)).count();
        let slots = usize::try_from(machine.slots).unwrap_or(usize::MAX);
        if live >= slots {
            return Err(format!(
                "{attempt} starts on machine {index}, where {live} of {slots} run"
            ));
        }
        Ok(())
    }
}
