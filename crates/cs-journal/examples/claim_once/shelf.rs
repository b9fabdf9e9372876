//! A store with one piece of work for whoever asks, and what a journal needs besides.
#![expect(clippy::disallowed_methods, reason = "an example stands at the edge")]
use std::{collections::BTreeMap, sync::Mutex};

use cs_journal::{Action, ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{Clock, IdSource, MachineId, OperationId, Time};
use uuid::Uuid;

const WORK: &str = r#"{"runs": [{"run": "0197f3c2-7f4e-7a31-9c55-000000000001", "epoch": 1, "kind": "owner",
    "card": "0197f3c2-7f4e-7a31-9c55-000000000002", "started_at": "2026-11-29T14:00:00.000000Z",
    "woke": "retry", "agent": "mine"}], "landings": []}"#;

#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<BTreeMap<OperationId, Receipt>>);

#[async_trait::async_trait]
impl ClaimRecord for Shelf {
    async fn claim(&self, _: MachineId, id: OperationId, _: &ClaimRequest) -> Result<Receipt, ClaimError> {
        let work = serde_json::from_str(WORK).map_err(|error| ClaimError::Corrupt(error.to_string()))?;
        let mut journal = self.0.lock().expect("nobody panics");
        Ok(journal.entry(id).or_insert(work).clone())
    }

    /// An operation that took nothing leaves an empty row, which keeps a late request from taking anything.
    async fn reconcile(&self, _: MachineId, id: OperationId) -> Result<Reconciled, ClaimError> {
        let mut journal = self.0.lock().expect("nobody panics");
        let (action, receipt) = (Action::TakeTurns, journal.entry(id).or_default().clone());
        Ok(Reconciled::Completed { action, receipt })
    }
}

#[derive(Debug)]
pub(crate) struct World;

impl IdSource for World {
    fn uuid_v7(&self) -> Uuid {
        Uuid::now_v7()
    }

    /// A real one asks the operating system.
    fn secret(&self) -> [u8; 32] {
        std::array::from_fn(|place| Uuid::now_v7().as_bytes()[8 + place % 8])
    }
}

impl Clock for World {
    fn now(&self) -> Time {
        Time::from_unix_micros(1_795_000_000_000_000)
    }
}
