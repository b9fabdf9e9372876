//! Which journal rows nobody can need any more.

use cs_model::{Epoch, LandingId, OperationId, RunId, Time};
use cs_record::{JOURNAL_LIFE, JournalEntry, OldOperation};

use super::tables::Tables;

impl Tables {
    /// Returns the oldest rows that may go.
    pub(super) fn old_operations(&self, now: Time, limit: u32) -> Vec<OldOperation> {
        let is_old = |at: Time| now.since(at) > JOURNAL_LIFE;
        let mut old: Vec<(Time, OperationId)> = self
            .journaled_at
            .iter()
            .filter(|(operation, at)| is_old(**at) && self.is_over(operation, &is_old))
            .map(|(operation, at)| (*at, *operation))
            .collect();
        old.sort();
        let row = |(at, operation): (Time, OperationId)| {
            let row = self.journal.get(&operation)?;
            Some(OldOperation {
                operation,
                machine: row.machine,
                kind: row.entry.kind().to_owned(),
                at,
            })
        };
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        old.into_iter().filter_map(row).take(most).collect()
    }

    /// Says whether every attempt that an operation names ended long ago, or was followed by another one.
    fn is_over(&self, operation: &OperationId, is_old: &impl Fn(Time) -> bool) -> bool {
        match self.journal.get(operation).map(|row| &row.entry) {
            None | Some(JournalEntry::Cancelled | JournalEntry::Interrupted(_)) => true,
            Some(JournalEntry::Claimed { receipt, .. }) => {
                let runs = receipt
                    .runs
                    .iter()
                    .all(|run| self.run_is_over(run.run, run.epoch, is_old));
                let landings = &receipt.landings;
                runs && landings
                    .iter()
                    .all(|landing| self.landing_is_over(landing.landing, landing.epoch, is_old))
            }
        }
    }

    fn run_is_over(&self, run: RunId, epoch: Epoch, is_old: &impl Fn(Time) -> bool) -> bool {
        self.runs.get(&run).is_none_or(|run| {
            let ended = run.ended_at.is_some_and(is_old) && run.process.is_none();
            run.epoch > epoch || ended
        })
    }

    fn landing_is_over(&self, landing: LandingId, epoch: Epoch, is_old: &impl Fn(Time) -> bool) -> bool {
        self.landings
            .get(&landing)
            .is_none_or(|landing| landing.epoch > epoch || landing.ended_at.is_some_and(is_old))
    }
}
