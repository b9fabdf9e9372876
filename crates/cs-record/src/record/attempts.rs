//! Facts of attempts.

use async_trait::async_trait;
use cs_fence::{
    Attempt, AttemptRecord, FenceError, Fenced, InterruptOutcome, Interruption, ProcessFact, Standing,
    Verdict, judge,
};
use cs_model::{MachineId, OperationId, RunId};

use super::{Done, Record};
use crate::journal::{JournalEntry, JournalRow};
use crate::store::{Facts, RowStore, Select, StoreError};
use crate::{Aggregate, Writes, rules};

type Outcomes = Vec<(RunId, InterruptOutcome)>;

impl<S: RowStore> Record<S> {
    /// Carries out a fenced write of a run; an unknown run is stale.
    pub(super) async fn fenced<T: Send>(
        &self,
        run: RunId,
        rule: impl Fn(&Aggregate, &Facts) -> (Writes, Fenced<T>) + Send + Sync,
    ) -> Result<Fenced<T>, StoreError> {
        let select = Select::Runs(vec![run]);
        self.decide_plain(&select, |facts| match facts.cards.first() {
            Some(card) => Ok::<_, StoreError>(rule(card, facts)),
            None => Ok((Writes::default(), Fenced::Stale(Standing { run, row: None }))),
        })
        .await?
    }
}

#[async_trait]
impl<S: RowStore> AttemptRecord for Record<S> {
    async fn standing(&self, attempt: &Attempt) -> Result<Fenced<Standing>, FenceError> {
        let row = self.store.run(attempt.run).await?;
        let standing = Standing {
            run: attempt.run,
            row: row.as_ref().map(|run| (run.epoch, run.state)),
        };
        match row.map(|run| judge(&run.fence(), attempt)) {
            Some(Verdict::Running) => Ok(Fenced::Applied(standing)),
            Some(Verdict::Asked | Verdict::Over | Verdict::Stale) | None => Ok(Fenced::Stale(standing)),
        }
    }

    async fn record_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError> {
        let rule = |card: &Aggregate, facts: &Facts| rules::record_process(card, attempt, process, facts.now);
        Ok(self.fenced(attempt.run, rule).await?)
    }

    async fn clear_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError> {
        let rule = |card: &Aggregate, facts: &Facts| rules::clear_process(card, attempt, process, facts.now);
        Ok(self.fenced(attempt.run, rule).await?)
    }

    async fn mark_incomplete(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
        left: &str,
    ) -> Result<Fenced<()>, FenceError> {
        let rule =
            |card: &Aggregate, facts: &Facts| rules::mark_incomplete(card, attempt, process, left, facts.now);
        Ok(self.fenced(attempt.run, rule).await?)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(op = %operation))]
    async fn interrupt(
        &self,
        machine: MachineId,
        operation: OperationId,
        attempts: &[Interruption],
    ) -> Result<Outcomes, FenceError> {
        let select = Select::Runs(attempts.iter().map(|one| one.attempt.run).collect());
        let operation = (!attempts.is_empty()).then_some((machine, operation));
        let rule = |facts: &Facts| Ok::<_, FenceError>(interrupt_all(machine, attempts, facts));
        match self.decide(operation, &select, rule).await?? {
            Done::Decided(outcomes) => Ok(outcomes),
            Done::Journaled(row) => reported_again(row),
        }
    }
}

/// Decides the reports card by card; the outcomes come in the order of the reports.
fn interrupt_all(machine: MachineId, attempts: &[Interruption], facts: &Facts) -> (Writes, Outcomes) {
    let mut writes = Writes::default();
    let mut outcomes: Outcomes = attempts
        .iter()
        .map(|one| (one.attempt.run, InterruptOutcome::Stale))
        .collect();
    for card in &facts.cards {
        let mine = |one: &&Interruption| card.run(one.attempt.run).is_some();
        let reports: Vec<&Interruption> = attempts.iter().filter(mine).collect();
        let (rows, decided) = rules::interrupt(card, machine, &reports, facts.now);
        writes.merge(rows);
        let places = outcomes.iter_mut().filter(|(run, _)| card.run(*run).is_some());
        for (place, outcome) in places.zip(decided) {
            place.1 = outcome;
        }
    }
    writes.journal = Some(JournalEntry::Interrupted(outcomes.clone()));
    (writes, outcomes)
}

/// The same report again: what it interrupted is already interrupted, the rest is as it was.
fn reported_again(row: JournalRow) -> Result<Outcomes, FenceError> {
    let operation = row.operation;
    match row.entry {
        JournalEntry::Interrupted(outcomes) => Ok(outcomes
            .into_iter()
            .map(|(run, outcome)| match outcome {
                InterruptOutcome::Interrupted => (run, InterruptOutcome::AlreadyInterrupted),
                InterruptOutcome::AlreadyInterrupted
                | InterruptOutcome::Continued
                | InterruptOutcome::Stale => (run, outcome),
            })
            .collect()),
        JournalEntry::Claimed { .. } | JournalEntry::Cancelled => Err(FenceError::Corrupt(format!(
            "operation {operation} is a claim, it reports no interruption"
        ))),
    }
}
