//! A store of one's own gives work once for each operation, and judges by its fence who may settle it.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]
use cs_fence::{Attempt, FenceRow, judge};
use cs_journal::{Action, ClaimError, ClaimRecord, ClaimRequest, ClaimedRun, Receipt, Reconciled};
use cs_journal::{Deps, Journal, Task, Want};
use cs_model::{Clock, Epoch, MachineId, OperationId, SystemClock, SystemIds};
use std::{collections::BTreeMap, sync::Arc};
/// What each operation took, with its fence; nothing once it is cancelled for ever.
#[derive(Debug, Default)]
struct Shelf(tokio::sync::Mutex<BTreeMap<OperationId, Option<(Receipt, FenceRow)>>>);
#[async_trait::async_trait]
impl ClaimRecord for Shelf {
    async fn claim(&self, _: MachineId, id: OperationId, ask: &ClaimRequest) -> Result<Receipt, ClaimError> {
        let run = ClaimedRun::first(&SystemIds, "mine", SystemClock.now());
        let fence = FenceRow::running(&run.attempt(&ask.seed));
        let new = Some((Receipt::of_runs([run]), fence));
        let row = self.0.lock().await.entry(id).or_insert(new).clone();
        row.map(|(receipt, _)| receipt).ok_or(ClaimError::Cancelled(id))
    }
    async fn reconcile(&self, _: MachineId, id: OperationId) -> Result<Reconciled, ClaimError> {
        let row = self.0.lock().await.entry(id).or_default().clone();
        Ok(Reconciled::of(Action::TakeTurns, row.map(|(receipt, _)| receipt)))
    }
}
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (home, shelf) = (tempfile::tempdir()?, Arc::<Shelf>::default());
    let machine = MachineId::fresh(&SystemIds);
    let deps = Deps::new(shelf.clone(), machine, SystemIds, SystemClock);
    let journal = Journal::open(&home.path().join("ledger"), deps)?.0;
    let mut window = journal.claim(&Want::one(Task::Turns, "mine")).await?;
    let prepared = window.adopt_all().remove(0).prepare("directory")?;
    let settling = prepared.registered("shim 1")?.started("pid 2")?.outcome("done")?;
    let kept = shelf.0.lock().await[&window.operation()].clone();
    let (_, row) = kept.ok_or("cancelled")?;
    let (present, epoch) = (settling.attempt(), Epoch::NONE);
    let verdicts = [present, Attempt { epoch, ..present }].map(|attempt| judge(&row, &attempt));
    println!("the present attempt and a stale one may write: {verdicts:?}");
    Ok(settling.acknowledged()?.closed()?)
}
