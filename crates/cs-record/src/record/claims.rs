//! Claims.

use std::time::Duration;

use async_trait::async_trait;
use cs_journal::{
    ClaimError, ClaimRecord, ClaimRequest, ClaimedLanding, ClaimedRun, DispatchRefusal, Receipt, Reconciled,
    Task,
};
use cs_model::{MachineId, OperationId, Time};

use super::{Done, Record};
use crate::journal::{JournalEntry, JournalRow};
use crate::rules::{self, Taker};
use crate::store::{Facts, Offer, RowStore, Select};
use crate::{Aggregate, ReadyFor, Writes};

/// How far the time in an operation id may lie from the record's time.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

#[async_trait]
impl<S: RowStore> ClaimRecord for Record<S> {
    #[tracing::instrument(level = "debug", skip_all, fields(op = %operation, action = %request.task.action()))]
    async fn claim(
        &self,
        machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        let select = selection(machine, request);
        let rule = |facts: &Facts| {
            check_clock(operation, facts.now)?;
            Ok::<_, ClaimError>(self.take_all(machine, request, facts))
        };
        match self.decide(Some((machine, operation)), &select, rule).await?? {
            Done::Decided(receipt) => Ok(receipt),
            Done::Journaled(row) => replayed(row, machine),
        }
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        let row = self.store.reconcile(machine, operation).await?;
        check_machine(&row, machine)?;
        match row.entry {
            JournalEntry::Claimed { action, receipt } => Ok(Reconciled::Completed { action, receipt }),
            JournalEntry::Cancelled => Ok(Reconciled::Cancelled),
            JournalEntry::Interrupted(_) => Err(no_claim(operation)),
        }
    }
}

impl<S: RowStore> Record<S> {
    /// Decides card by card, each with what the ones before left of the limits, and merges the rows into one write.
    fn take_all(&self, machine: MachineId, request: &ClaimRequest, facts: &Facts) -> (Writes, Receipt) {
        let mut limits = facts.limits.clone();
        let most = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let (mut writes, mut receipt) = (Writes::default(), Receipt::default());
        for card in facts.cards.iter().take(most) {
            let taker = Taker {
                machine,
                request,
                limits: &limits,
            };
            match self.take_one(card, &taker, facts) {
                Taken::Run(rows, run) => {
                    limits.count(run.codebase);
                    writes.merge(rows);
                    receipt.runs.push(run);
                }
                Taken::Landing(rows, landing) => {
                    writes.merge(rows);
                    receipt.landings.push(landing);
                }
                Taken::Nothing => {}
                Taken::Refused(refusal) => receipt.refused = Some(refusal),
            }
        }
        if let Task::Child(_) = request.task
            && facts.cards.is_empty()
        {
            receipt.refused = Some(DispatchRefusal::ParentOver);
        }
        writes.journal = Some(JournalEntry::Claimed {
            action: request.task.action(),
            receipt: receipt.clone(),
        });
        (writes, receipt)
    }

    fn take_one(&self, card: &Aggregate, taker: &Taker<'_>, facts: &Facts) -> Taken {
        let (now, ids) = (facts.now, &*self.ids);
        match &taker.request.task {
            Task::Turns
            | Task::Rearms
            | Task::Resumes
            | Task::Recovery
            | Task::Resume(_)
            | Task::Activate(_) => match rules::take(card, taker, now, ids) {
                Some((rows, run)) => Taken::Run(rows, run),
                None => Taken::Nothing,
            },
            Task::Landings => match rules::take_landing(card, taker, now) {
                Some((rows, landing)) => Taken::Landing(rows, landing),
                None => Taken::Nothing,
            },
            Task::Child(child) => match rules::dispatch(card, taker, child, now, ids) {
                Ok((rows, run)) => Taken::Run(rows, run),
                Err(refusal) => Taken::Refused(refusal),
            },
        }
    }
}

/// What one card gave.
enum Taken {
    Run(Writes, ClaimedRun),
    Landing(Writes, ClaimedLanding),
    Nothing,
    Refused(DispatchRefusal),
}

fn selection(machine: MachineId, request: &ClaimRequest) -> Select {
    let ready = |what| Select::Ready {
        what,
        machine,
        agents: request.agents.clone(),
        limit: request.limit,
    };
    let start = |run| Select::Start { machine, run };
    match &request.task {
        Task::Turns => ready(Offer::Ready(ReadyFor::Turns)),
        Task::Rearms => ready(Offer::Ready(ReadyFor::Rearm)),
        Task::Resumes => ready(Offer::Ready(ReadyFor::Resume)),
        Task::Recovery => ready(Offer::Recovery),
        Task::Landings => Select::Landings {
            machine,
            limit: request.limit,
        },
        Task::Resume(target) | Task::Activate(target) => start(target.run),
        Task::Child(child) => start(child.parent.run),
    }
}

/// Refuses an operation id that is too far from the record's time: its journal row may be gone, or go too early.
fn check_clock(operation: OperationId, now: Time) -> Result<(), ClaimError> {
    let micros = operation
        .made_at_unix_ms()
        .and_then(|ms| i64::try_from(ms.checked_mul(1_000)?).ok());
    let Some(made_at) = micros.map(Time::from_unix_micros) else {
        return Err(ClaimError::Corrupt(format!(
            "operation id {operation} is no UUIDv7, so that its age is unknown"
        )));
    };
    if now.since(made_at) > MAX_AGE || made_at.since(now) > MAX_AGE {
        return Err(ClaimError::ClockApart {
            operation,
            made_at,
            now,
        });
    }
    Ok(())
}

fn replayed(row: JournalRow, machine: MachineId) -> Result<Receipt, ClaimError> {
    check_machine(&row, machine)?;
    match row.entry {
        JournalEntry::Claimed { receipt, .. } => Ok(receipt),
        JournalEntry::Cancelled => Err(ClaimError::Cancelled(row.operation)),
        JournalEntry::Interrupted(_) => Err(no_claim(row.operation)),
    }
}

fn check_machine(row: &JournalRow, machine: MachineId) -> Result<(), ClaimError> {
    if row.machine == machine {
        return Ok(());
    }
    let (operation, other) = (row.operation, row.machine);
    Err(ClaimError::Corrupt(format!(
        "operation {operation} belongs to machine {other}, not to {machine}"
    )))
}

fn no_claim(operation: OperationId) -> ClaimError {
    ClaimError::Corrupt(format!(
        "operation {operation} reported interruptions, it is no claim"
    ))
}
