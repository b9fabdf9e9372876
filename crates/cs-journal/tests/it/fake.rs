//! A small record that loses requests and answers when told so, and a home for a journal.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cs_fence::TokenSeed;
use cs_journal::{
    Action, ClaimError, ClaimRecord, ClaimRequest, ClaimedLanding, ClaimedRun, Deps, Journal, Opening,
    Receipt, Reconciled, Task, Want, Woke,
};
use cs_model::{
    CardId, Clock, CodebaseId, Epoch, IdSource, LandingId, MachineId, OperationId, RunId, RunKind, Time,
};
use tempfile::TempDir;
use tokio::sync::oneshot;
use uuid::Uuid;

/// What goes wrong with the next claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request does not arrive, yet.
    LoseRequest,
    /// It is carried out, and the answer does not arrive.
    LoseAnswer,
    /// The confirmation names another action.
    NameAnotherAction,
    /// The confirmation fails.
    FailConfirmation,
    /// The confirmation says that nothing was taken, after an answer with work.
    DenyAnswer,
    /// Landings are given, whatever was asked for.
    GiveLandings,
    /// The direct answer names a run that the journal does not.
    AnswerWithOtherRows,
}

#[derive(Debug, Default)]
struct Rows {
    ready: VecDeque<ClaimedRun>,
    ready_landings: VecDeque<ClaimedLanding>,
    journal: BTreeMap<OperationId, Reconciled>,
    travelling: Vec<(OperationId, ClaimRequest)>,
    faults: VecDeque<Fault>,
    confirmation: Option<Fault>,
    gate: Option<oneshot::Receiver<()>>,
}

#[derive(Debug, Default)]
pub(crate) struct FakeRecord {
    rows: Mutex<Rows>,
}

impl FakeRecord {
    pub(crate) fn offer(&self, runs: impl IntoIterator<Item = u128>) {
        self.rows
            .lock()
            .unwrap()
            .ready
            .extend(runs.into_iter().map(|number| row(number, 1)));
    }

    pub(crate) fn offer_row(&self, row: ClaimedRun) {
        self.rows.lock().unwrap().ready.push_back(row);
    }

    pub(crate) fn offer_landing(&self, row: ClaimedLanding) {
        self.rows.lock().unwrap().ready_landings.push_back(row);
    }

    pub(crate) fn next_fault(&self, fault: Fault) {
        self.rows.lock().unwrap().faults.push_back(fault);
    }

    /// Makes the next confirmation fail, whoever asks for it.
    pub(crate) fn fail_next_confirmation(&self) {
        self.rows.lock().unwrap().confirmation = Some(Fault::FailConfirmation);
    }

    /// Makes the next confirmation name another action, whoever asks for it.
    pub(crate) fn name_another_action_next(&self) {
        self.rows.lock().unwrap().confirmation = Some(Fault::NameAnotherAction);
    }

    /// Holds the next claim up until the sender speaks.
    pub(crate) fn gate(&self) -> oneshot::Sender<()> {
        let (open, gate) = oneshot::channel();
        self.rows.lock().unwrap().gate = Some(gate);
        open
    }

    pub(crate) fn ready(&self) -> usize {
        self.rows.lock().unwrap().ready.len()
    }

    /// Answers truly from now on.
    pub(crate) fn forget_faults(&self) {
        let mut rows = self.rows.lock().unwrap();
        rows.faults.clear();
        rows.confirmation = None;
    }

    pub(crate) fn ready_runs(&self) -> Vec<RunId> {
        self.rows
            .lock()
            .unwrap()
            .ready
            .iter()
            .map(|row| row.run)
            .collect()
    }

    /// Delivers every request that was lost on the way.
    pub(crate) fn deliver_late(&self) -> Vec<Result<Receipt, ClaimError>> {
        let mut rows = self.rows.lock().unwrap();
        let late = std::mem::take(&mut rows.travelling);
        late.into_iter()
            .map(|(operation, request)| carry_out(&mut rows, operation, &request))
            .collect()
    }
}

fn carry_out(rows: &mut Rows, operation: OperationId, request: &ClaimRequest) -> Result<Receipt, ClaimError> {
    match rows.journal.get(&operation) {
        Some(Reconciled::Completed { receipt, .. }) => return Ok(receipt.clone()),
        Some(Reconciled::Cancelled) => return Err(ClaimError::Cancelled(operation)),
        None => {}
    }
    let limit = usize::try_from(request.limit).unwrap();
    let mut receipt = Receipt::default();
    if request.task == Task::Landings || rows.confirmation == Some(Fault::GiveLandings) {
        let count = limit.min(rows.ready_landings.len());
        receipt.landings = rows.ready_landings.drain(..count).collect();
    } else {
        let count = limit.min(rows.ready.len());
        receipt.runs = rows.ready.drain(..count).collect();
    }
    if !receipt.is_empty() {
        let action = request.task.action();
        rows.journal.insert(
            operation,
            Reconciled::Completed {
                action,
                receipt: receipt.clone(),
            },
        );
    }
    Ok(receipt)
}

fn away() -> ClaimError {
    ClaimError::Away("the line is cut".into())
}

#[async_trait]
impl ClaimRecord for FakeRecord {
    async fn claim(
        &self,
        _machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        let gate = self.rows.lock().unwrap().gate.take();
        if let Some(gate) = gate {
            gate.await.map_err(|_| away())?;
        }
        let mut rows = self.rows.lock().unwrap();
        let fault = rows.faults.pop_front();
        rows.confirmation = fault;
        match fault {
            Some(Fault::LoseRequest) => {
                rows.travelling.push((operation, request.clone()));
                Err(away())
            }
            Some(Fault::LoseAnswer) => carry_out(&mut rows, operation, request).and(Err(away())),
            Some(Fault::AnswerWithOtherRows) => {
                carry_out(&mut rows, operation, request)?;
                Ok(Receipt {
                    runs: vec![row(999, 1)],
                    landings: Vec::new(),
                    refused: None,
                })
            }
            _ => carry_out(&mut rows, operation, request),
        }
    }

    async fn reconcile(&self, _machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        tokio::task::yield_now().await;
        let mut rows = self.rows.lock().unwrap();
        let fault = rows.confirmation.take();
        let stored = rows
            .journal
            .entry(operation)
            .or_insert(Reconciled::Cancelled)
            .clone();
        match (fault, stored) {
            (Some(Fault::FailConfirmation), _) => Err(away()),
            (Some(Fault::DenyAnswer), _) => Ok(Reconciled::Cancelled),
            (Some(Fault::NameAnotherAction), Reconciled::Completed { receipt, .. }) => {
                Ok(Reconciled::Completed {
                    action: Action::TakeRearms,
                    receipt,
                })
            }
            (_, stored) => Ok(stored),
        }
    }
}

/// A state directory that outlives the journals opened in it, and the record that they share.
pub(crate) struct Home {
    dir: TempDir,
    pub(crate) record: Arc<FakeRecord>,
    world: Arc<World>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let shared = std::path::Path::new("/dev/shm");
        let dir = if shared.is_dir() {
            tempfile::tempdir_in(shared)
        } else {
            tempfile::tempdir()
        };
        Self {
            dir: dir.unwrap(),
            record: Arc::default(),
            world: Arc::default(),
        }
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.dir.path().join("ledger")
    }

    /// Opens the journal, as each new process does.
    pub(crate) fn open(&self) -> Journal {
        self.open_with_report().0
    }

    fn deps(&self) -> Deps {
        Deps {
            record: Arc::clone(&self.record) as Arc<dyn ClaimRecord>,
            ids: Arc::clone(&self.world) as Arc<dyn IdSource>,
            clock: Arc::clone(&self.world) as Arc<dyn Clock>,
            machine: MachineId::from_uuid(Uuid::from_u128(1)),
        }
    }

    /// Opens a copy of the ledger as it is now, while another journal has it.
    pub(crate) fn open_a_copy(&self) -> Journal {
        let copy = self.dir.path().join("copy");
        std::fs::copy(self.ledger(), &copy).unwrap();
        Journal::open(&copy, self.deps()).unwrap().0
    }

    pub(crate) fn open_with_report(&self) -> (Journal, Opening) {
        Journal::open(&self.ledger(), self.deps()).unwrap()
    }
}

/// Ids and times that count up.
#[derive(Debug, Default)]
struct World {
    count: AtomicU64,
}

impl IdSource for World {
    fn uuid_v7(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.count.fetch_add(1, Ordering::Relaxed)) | 7 << 76)
    }

    fn secret(&self) -> [u8; 32] {
        [u8::try_from(self.count.fetch_add(1, Ordering::Relaxed) % 256).unwrap(); 32]
    }
}

impl Clock for World {
    fn now(&self) -> Time {
        let seconds = i64::try_from(self.count.fetch_add(1, Ordering::Relaxed)).unwrap();
        Time::from_unix_micros(seconds * 1_000_000)
    }
}

pub(crate) fn run_id(number: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn row(number: u128, epoch: u32) -> ClaimedRun {
    ClaimedRun {
        run: run_id(number),
        card: CardId::from_uuid(Uuid::from_u128(50)),
        kind: RunKind::Owner,
        epoch: Epoch::new(epoch),
        started_at: Time::from_unix_micros(0),
        resumed_at: None,
        woke: Woke::Retry,
        agent: "scripted".to_owned(),
        model: None,
        effort: None,
        codebase: None,
        fresh: false,
    }
}

pub(crate) fn landing_row(number: u128) -> ClaimedLanding {
    ClaimedLanding {
        landing: LandingId::from_uuid(Uuid::from_u128(number)),
        card: CardId::from_uuid(Uuid::from_u128(50)),
        codebase: CodebaseId::from_uuid(Uuid::from_u128(51)),
        epoch: Epoch::new(1),
    }
}

pub(crate) fn seed() -> TokenSeed {
    TokenSeed::from_bytes([9; 32])
}

pub(crate) fn want(task: Task) -> Want {
    Want {
        task,
        limit: 4,
        agents: vec!["scripted".to_owned()],
    }
}

pub(crate) fn turns() -> Want {
    want(Task::Turns)
}
