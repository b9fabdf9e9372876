//! Where the model meets the record: each function runs the production piece, or in its place the broken piece of a variant.
//!
//! The variants that break the order in which a process does things are in `step.rs` and `act.rs`, since that order is the model's own.

use std::sync::Arc;

use cs_fence::{Attempt, AttemptRecord, FenceError, Fenced, InterruptOutcome, Interruption};
use cs_journal::{ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{FailureClass, OperationId, RunId};
use cs_record::JournalEntry;
use cs_settle::{Answer, GiveUp, SettleError, SettlementRecord};

use crate::machine::{Outcome, Take, report as report_id, request};
use crate::record::{Rows, at_once, machine, now};

/// What is broken on purpose, to show that the check finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Nothing: the product.
    Sound,
    /// An outcome is written for the run, whatever attempt it comes from: it is judged as if the current one had told it.
    FenceRemoved,
    /// A reconcile that finds no row says cancelled and leaves nothing behind.
    NoTombstone,
    /// The window is over before the start that it belongs to has taken hold of the attempt.
    AdoptionAfterFinish,
    /// The record is told an outcome before the ledger has it.
    OutcomeAfterTelling,
    /// A failure settles the turns of its attempt, as an answer does.
    FailureSettles,
    /// An attempt is prepared while another of its run may still run on the machine.
    PreparedBeside,
}

type After<T> = (Arc<Rows>, T);

pub(crate) fn claim(
    rows: &Rows,
    from: usize,
    operation: OperationId,
    take: Take,
) -> After<Result<Receipt, ClaimError>> {
    let request: ClaimRequest = request(operation, take);
    rows.after(100, |record| {
        at_once(record.claim(machine(from), operation, &request))
    })
}

pub(crate) fn reconcile(
    variant: Variant,
    rows: &Arc<Rows>,
    from: usize,
    operation: OperationId,
) -> After<Result<Reconciled, ClaimError>> {
    let (after, said) = rows.after(0, |record| at_once(record.reconcile(machine(from), operation)));
    match said {
        Ok(Reconciled::Cancelled) if variant == Variant::NoTombstone => (Arc::clone(rows), said),
        said => (after, said),
    }
}

/// Tells an outcome; says whether the record has taken it.
pub(crate) fn tell(
    variant: Variant,
    rows: &Rows,
    attempt: &Attempt,
    outcome: Outcome,
) -> After<Result<bool, SettleError>> {
    let attempt = fenced(variant, rows, attempt);
    rows.after(
        200 + 10 * u64::from(attempt.epoch.get()),
        |record| match outcome {
            Outcome::Failure if variant != Variant::FailureSettles => {
                // Tried again at once, since the time of the model stands still.
                let failure = GiveUp::new(FailureClass::Verify, "no");
                at_once(record.give_up(&attempt, &failure)).map(is_applied)
            }
            Outcome::Answer | Outcome::Failure => {
                at_once(record.answer(&attempt, &Answer::words("done"))).map(is_applied)
            }
        },
    )
}

pub(crate) fn report(
    variant: Variant,
    rows: &Rows,
    from: usize,
    attempt: &Attempt,
) -> After<Result<Vec<(RunId, InterruptOutcome)>, FenceError>> {
    let operation = report_id(from, attempt.epoch);
    let attempt = fenced(variant, rows, attempt);
    let interruption = Interruption { attempt, at: now() };
    rows.after(0, |record| {
        at_once(record.interrupt(machine(from), operation, &[interruption]))
    })
}

/// Says whether an attempt may go on to its prompt.
pub(crate) fn is_current(rows: &Rows, attempt: &Attempt) -> bool {
    let standing = rows.ask(|record| at_once(record.standing(attempt)));
    matches!(standing, Ok(Fenced::Applied(_)))
}

/// The attempt that a write is judged by: its own, or without a fence whichever is current.
fn fenced(variant: Variant, rows: &Rows, attempt: &Attempt) -> Attempt {
    if variant != Variant::FenceRemoved {
        return *attempt;
    }
    let current = rows.journal.iter().find_map(|row| match &row.entry {
        JournalEntry::Claimed { receipt, .. } => {
            let claimed = receipt.runs.iter().find(|run| run.epoch == rows.epoch())?;
            Some(claimed.attempt(&request(row.operation, Take::Turns).seed))
        }
        JournalEntry::Interrupted(_) | JournalEntry::Cancelled => None,
    });
    current.unwrap_or(*attempt)
}

fn is_applied<T>(fenced: Fenced<T>) -> bool {
    matches!(fenced, Fenced::Applied(_))
}
