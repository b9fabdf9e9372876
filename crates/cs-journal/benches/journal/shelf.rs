//! A record in memory with as much work as anybody asks for, which loses its answers when told so.
#![expect(clippy::disallowed_methods, reason = "a bench stands at the edge")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use cs_journal::{Action, ClaimError, ClaimRecord, ClaimRequest, ClaimedRun, Receipt, Reconciled, Woke};
use cs_model::{CardId, Clock, Epoch, IdSource, MachineId, OperationId, RunId, RunKind, Time};
use uuid::Uuid;

#[derive(Debug, Default)]
pub(crate) struct Shelf {
    journal: Mutex<BTreeMap<OperationId, Receipt>>,
    loses_answers: AtomicBool,
}

impl Shelf {
    pub(crate) fn lose_answers(&self, lost: bool) {
        self.loses_answers.store(lost, Ordering::Relaxed);
    }
}

fn row() -> ClaimedRun {
    ClaimedRun {
        run: RunId::from_uuid(Uuid::now_v7()),
        card: CardId::from_uuid(Uuid::now_v7()),
        kind: RunKind::Owner,
        epoch: Epoch::new(1),
        started_at: World.now(),
        resumed_at: None,
        woke: Woke::Retry,
        agent: "mine".to_owned(),
        model: None,
        effort: None,
        codebase: None,
        fresh: false,
    }
}

#[async_trait::async_trait]
impl ClaimRecord for Shelf {
    async fn claim(
        &self,
        _: MachineId,
        id: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        let runs = (0..request.limit).map(|_| row()).collect();
        let receipt = Receipt {
            runs,
            ..Receipt::default()
        };
        self.journal
            .lock()
            .expect("nobody panics")
            .insert(id, receipt.clone());
        if self.loses_answers.load(Ordering::Relaxed) {
            return Err(ClaimError::Away("the line is cut".into()));
        }
        Ok(receipt)
    }

    async fn reconcile(&self, _: MachineId, id: OperationId) -> Result<Reconciled, ClaimError> {
        let journal = self.journal.lock().expect("nobody panics");
        if self.loses_answers.load(Ordering::Relaxed) {
            return Err(ClaimError::Away("the line is cut".into()));
        }
        let receipt = journal.get(&id).cloned().unwrap_or_default();
        let action = Action::TakeTurns;
        Ok(Reconciled::Completed { action, receipt })
    }
}

#[derive(Debug)]
pub(crate) struct World;

impl IdSource for World {
    fn uuid_v7(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn secret(&self) -> [u8; 32] {
        [7; 32]
    }
}

impl Clock for World {
    fn now(&self) -> Time {
        Time::from_unix_micros(1_795_000_000_000_000)
    }
}
