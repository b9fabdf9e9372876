//! Claims.

use std::time::Duration;

use async_trait::async_trait;
use cs_journal::{Action, ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{MachineId, OperationId, Time};

use super::{Done, Record};
use crate::rules::{self, Taker};
use crate::store::{Facts, JournalEntry, JournalRow, RowStore, Select};
use crate::{ReadyFor, Writes};

/// How far the time in an operation id may lie from the record's time.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

#[async_trait]
impl<S: RowStore> ClaimRecord for Record<S> {
    #[tracing::instrument(level = "debug", skip_all, fields(op = %operation, action = %request.action))]
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
    /// Decides card by card, and merges the rows into one write.
    fn take_all(&self, machine: MachineId, request: &ClaimRequest, facts: &Facts) -> (Writes, Receipt) {
        let taker = Taker {
            machine,
            request,
            limits: &facts.limits,
        };
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let (mut writes, mut receipt) = (Writes::default(), Receipt::default());
        for card in facts.cards.iter().take(limit) {
            match request.action {
                Action::TakeTurns | Action::TakeRearms | Action::TakeResumes => {
                    if let Some((rows, run)) = rules::take(card, &taker, facts.now, &*self.ids) {
                        writes.merge(rows);
                        receipt.runs.push(run);
                    }
                }
                Action::TakeLandings => {
                    if let Some((rows, landing)) = rules::take_landing(card, &taker, facts.now) {
                        writes.merge(rows);
                        receipt.landings.push(landing);
                    }
                }
            }
        }
        writes.journal = Some(JournalEntry::Claimed {
            action: request.action,
            receipt: receipt.clone(),
        });
        (writes, receipt)
    }
}

fn selection(machine: MachineId, request: &ClaimRequest) -> Select {
    let ready = |what| Select::Ready {
        what,
        machine,
        agents: request.agents.clone(),
        limit: request.limit,
    };
    match request.action {
        Action::TakeTurns => ready(ReadyFor::Turns),
        Action::TakeRearms => ready(ReadyFor::Rearm),
        Action::TakeResumes => ready(ReadyFor::Resume),
        Action::TakeLandings => Select::Landings {
            machine,
            limit: request.limit,
        },
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
