//! The line to the record: it loses requests and answers, and brings requests late.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cs_journal::{ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{AgentName, CardId, IdSource, MachineId, OperationId, Person, TurnId};
use cs_record::{JournalEntry, PeopleActs, Record, Send, SendTo};
use cs_testkit::{MemoryStore, SeededIds, SetClock};
use shuttle::future::yield_now;
use shuttle::rand::{Rng, thread_rng};
use uuid::Uuid;

/// The route that every machine has.
pub(crate) const AGENT: &str = "scripted";

/// Whether a reconcile that finds nothing leaves a mark, so that a late request takes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tombstone {
    Kept,
    Forgotten,
}

type Request = (MachineId, OperationId, ClaimRequest);

/// The record behind its line.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) record: Record<MemoryStore>,
    tombstone: Tombstone,
    late: Mutex<Vec<Request>>,
    goes_well: AtomicBool,
}

impl Line {
    /// A record with so many cards that each have a turn.
    pub(crate) async fn new(cards: usize, tombstone: Tombstone) -> Arc<Self> {
        let store = MemoryStore::new(Arc::new(SetClock::new()));
        let source = ids(1);
        let record = Record::new(store, ids(2));
        let agent: AgentName = AGENT.parse().expect("a name");
        let person: Person = "ada".parse().expect("a name");
        for _ in 0..cards {
            let to = SendTo::new_card(CardId::from_uuid(source.uuid_v7()), "a card", agent.clone());
            let send = Send::new(TurnId::from_uuid(source.uuid_v7()), to, person.clone(), "please");
            record.send(&send).await.expect("it is new");
        }
        Arc::new(Self {
            record,
            tombstone,
            late: Mutex::default(),
            goes_well: AtomicBool::new(false),
        })
    }

    /// Loses nothing from now on.
    pub(crate) fn go_well(&self) {
        self.goes_well.store(true, Ordering::Relaxed);
    }

    /// Brings at most so many of the requests that were given up.
    pub(crate) async fn bring_late(&self, most: usize) {
        for _ in 0..most {
            yield_now().await;
            let next = self.late.lock().expect("no panic").pop();
            match next {
                // Nobody waits for the answer.
                Some((machine, operation, request)) => {
                    drop(self.record.claim(machine, operation, &request).await)
                }
                None if self.goes_well.load(Ordering::Relaxed) => return,
                None => {}
            }
        }
    }

    /// One of four, unless all goes well.
    fn chance(&self) -> bool {
        !self.goes_well.load(Ordering::Relaxed) && thread_rng().gen_range(0..4) == 0
    }
}

#[async_trait]
impl ClaimRecord for Line {
    async fn claim(
        &self,
        machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        yield_now().await;
        if self.chance() {
            let late = (machine, operation, request.clone());
            self.late.lock().expect("no panic").push(late);
            return Err(away());
        }
        let answer = self.record.claim(machine, operation, request).await;
        yield_now().await;
        if self.chance() { Err(away()) } else { answer }
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        yield_now().await;
        if self.chance() {
            return Err(away());
        }
        let journal = self.record.store().journal().await;
        let row = journal.into_iter().find(|row| row.operation == operation);
        let answer = match (self.tombstone, row.map(|row| row.entry)) {
            (Tombstone::Forgotten, None | Some(JournalEntry::Cancelled)) => Ok(Reconciled::Cancelled),
            (Tombstone::Kept | Tombstone::Forgotten, _) => self.record.reconcile(machine, operation).await,
        };
        yield_now().await;
        if self.chance() { Err(away()) } else { answer }
    }
}

pub(crate) fn machine(number: usize) -> MachineId {
    MachineId::from_uuid(Uuid::from_u128(0x71 + number as u128))
}

pub(crate) fn ids(seed: u64) -> Arc<dyn IdSource> {
    Arc::new(SeededIds::new(seed, Arc::new(SetClock::new())))
}

fn away() -> ClaimError {
    ClaimError::Away("the line is cut".into())
}
