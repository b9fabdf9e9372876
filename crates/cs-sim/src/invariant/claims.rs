//! Invariants 3 to 5: what an operation takes, it takes once, and somebody always answers for it.

use std::collections::{BTreeMap, BTreeSet};

use cs_journal::Receipt;
use cs_model::{Epoch, LandingId, LandingState, OperationId, RunId, RunState};
use cs_record::JournalEntry;

use super::{Event, Invariant, Moment};
use crate::ledger;
use crate::machine::Machine;

type Taken = (Vec<(RunId, Epoch)>, Vec<(LandingId, Epoch)>);

fn taken(receipt: &Receipt) -> Taken {
    let runs = receipt.runs.iter().map(|row| (row.run, row.epoch));
    let landings = receipt.landings.iter().map(|row| (row.landing, row.epoch));
    (runs.collect(), landings.collect())
}

/// Invariant 3.
#[derive(Debug, Default)]
pub(super) struct OnceTaken {
    taken: BTreeMap<OperationId, Taken>,
    cancelled: BTreeSet<OperationId>,
}

impl Invariant for OnceTaken {
    fn name(&self) -> &'static str {
        "3. an operation takes work once; cancelled it never takes any"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::Cancelled { operation } = moment.event {
            self.cancelled.insert(*operation);
        }
        if let Event::Claimed {
            operation, receipt, ..
        } = moment.event
            && !receipt.is_empty()
        {
            let now = taken(receipt);
            if self.cancelled.contains(operation) {
                return Err(format!("{operation} was cancelled and took {now:?}"));
            }
            let before = self.taken.entry(*operation).or_insert_with(|| now.clone());
            if *before != now {
                return Err(format!("{operation} took {before:?}, then {now:?}"));
            }
        }
        Ok(())
    }
}

/// Ledgers are read after so many changes, and at each crash.
const READ_EVERY: u32 = 24;

/// Invariants 4 and 5. Two cases are left out, both of a machine whose ledger was lost. Until what the record holds for running there is
/// imported, nothing answers for it. And a claim that was on its way when its ledger was lost may arrive after that: what it takes is found
/// when the daemon compares its ledger with the record once more, and at rest there is none of it left.
#[derive(Debug, Default)]
pub(super) struct NoneLost {
    since: u32,
    without_ledger: BTreeSet<usize>,
    /// Operations that were under way in a ledger that was lost.
    orphaned: BTreeSet<OperationId>,
    /// What those took.
    orphans: BTreeSet<(RunId, Epoch)>,
    orphan_landings: BTreeSet<(LandingId, Epoch)>,
}

impl Invariant for NoneLost {
    fn name(&self) -> &'static str {
        "4. and 5. exactly one thing on a machine's disk answers for what the record holds for running there"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        if let Event::LedgerLost { machine } = moment.event {
            self.without_ledger.insert(*machine);
            if let Some(machine) = moment.machines.get(*machine) {
                self.orphaned.extend(ledger::read(machine)?.pending);
            }
        }
        if let Event::Claimed {
            operation, receipt, ..
        } = moment.event
            && self.orphaned.contains(operation)
        {
            let (runs, landings) = taken(receipt);
            self.orphans.extend(runs);
            self.orphan_landings.extend(landings);
        }
        let is_due = self.since >= READ_EVERY || matches!(moment.event, Event::Crashed | Event::AtRest);
        self.since = if is_due { 0 } else { self.since + 1 };
        if !is_due {
            return Ok(());
        }
        let mut owned = BTreeMap::new();
        for machine in moment.machines {
            let lost = self.without_ledger.contains(&machine.index);
            for owner in self.on(machine, moment, lost)? {
                if let Some(other) = owned.insert(owner, machine.index) {
                    return Err(format!(
                        "run {} {} is in the ledgers of the machines {other} and {}",
                        owner.0.short(),
                        owner.1,
                        machine.index
                    ));
                }
            }
        }
        Ok(())
    }
}

impl NoneLost {
    /// Looks at one machine; gives back the attempts that its ledger owns.
    fn on(
        &self,
        machine: &Machine,
        moment: &Moment<'_>,
        lost: bool,
    ) -> Result<BTreeSet<(RunId, Epoch)>, String> {
        let said = ledger::read(machine)?;
        let pending: Vec<Taken> = moment
            .rows
            .journal
            .iter()
            .filter(|row| said.pending.contains(&row.operation))
            .filter_map(|row| match &row.entry {
                JournalEntry::Claimed { receipt, .. } => Some(taken(receipt)),
                JournalEntry::Interrupted(_) | JournalEntry::Cancelled => None,
            })
            .collect();
        let index = machine.index;
        for (run, epoch) in pending.iter().flat_map(|(runs, _)| runs) {
            if said.runs.contains(&(*run, *epoch)) {
                return Err(format!(
                    "machine {index}: run {} {epoch} has two owners",
                    run.short()
                ));
            }
        }
        if said.import_needed && lost {
            return Ok(said.runs);
        }
        let live = |run: &&cs_record::Run| run.machine == machine.id && run.state == RunState::Running;
        for run in moment.rows.runs.iter().filter(live) {
            let key = (run.id, run.epoch);
            if !said.runs.contains(&key)
                && !self.orphans.contains(&key)
                && !pending.iter().any(|(runs, _)| runs.contains(&key))
            {
                return Err(format!(
                    "machine {index}: nothing on its disk answers for run {} {}",
                    run.id.short(),
                    run.epoch
                ));
            }
        }
        let under_way = |landing: &&cs_record::Landing| {
            landing.machine == machine.id && landing.state == LandingState::Running
        };
        for landing in moment.rows.landings.iter().filter(under_way) {
            let key = (landing.id, landing.epoch);
            if !said.landings.contains(&key)
                && !self.orphan_landings.contains(&key)
                && !pending.iter().any(|(_, landings)| landings.contains(&key))
            {
                return Err(format!(
                    "machine {index}: nothing on its disk answers for landing {} {}",
                    landing.id.short(),
                    landing.epoch
                ));
            }
        }
        if !lost {
            is_answered_for(machine, &said)?;
        }
        Ok(said.runs)
    }
}

/// Every agent that works on a machine is in its ledger.
fn is_answered_for(machine: &Machine, said: &ledger::Said) -> Result<(), String> {
    let at_work = machine.attempts_at_work();
    match at_work.keys().find(|key| !said.runs.contains(*key)) {
        Some((run, epoch)) => Err(format!(
            "machine {}: an agent works for run {} {epoch}, and nothing on the disk answers for it",
            machine.index,
            run.short()
        )),
        None => Ok(()),
    }
}
