//! What the record's word on an operation is worth.

use std::collections::BTreeSet;

use cs_model::{Epoch, OperationId, RunId};

use crate::error::JournalError;
use crate::{Action, Receipt, Reconciled};

/// Judges what the record says of an operation that asked for this action: a usable receipt, or nothing when it is cancelled
/// for ever (CJ-4, CJ-5, CJ-9).
///
/// # Errors
/// [`JournalError`] when the record knows another action, or the receipt cannot be what such a claim takes; nothing of it may
/// be started then.
pub fn confirmed(
    operation: OperationId,
    asked: Action,
    said: Reconciled,
) -> Result<Option<Receipt>, JournalError> {
    match said {
        Reconciled::Cancelled => Ok(None),
        Reconciled::Completed { action, receipt } if action == asked => match fault(action, &receipt) {
            None => Ok(Some(receipt)),
            Some(fault) => Err(JournalError::BadReceipt { operation, fault }),
        },
        Reconciled::Completed { action: stored, .. } => Err(JournalError::AnotherAction {
            operation,
            asked,
            stored,
        }),
    }
}

/// Says what makes a receipt unusable, if anything does. One bad row refuses the whole of it.
fn fault(action: Action, receipt: &Receipt) -> Option<&'static str> {
    let runs: BTreeSet<RunId> = receipt.runs.iter().map(|row| row.run).collect();
    let landings: BTreeSet<_> = receipt.landings.iter().map(|row| row.landing).collect();
    let expected = match action {
        Action::TakeTurns
        | Action::TakeRearms
        | Action::TakeResumes
        | Action::TakeRecovery
        | Action::Resume
        | Action::ActivateOwner
        | Action::Dispatch => receipt.landings.is_empty(),
        Action::TakeLandings => receipt.runs.is_empty(),
    };
    let mut epochs = receipt
        .runs
        .iter()
        .map(|row| row.epoch)
        .chain(receipt.landings.iter().map(|row| row.epoch));
    if !expected {
        Some("it holds work of another kind")
    } else if runs.len() < receipt.runs.len() || landings.len() < receipt.landings.len() {
        Some("it names the same work twice")
    } else if epochs.any(|epoch| epoch == Epoch::NONE) {
        Some("it names an attempt without an epoch")
    } else {
        None
    }
}
