//! The record of the model: the production rules over rows in memory, one immutable snapshot per state.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};

use cs_model::{
    AgentName, CardId, Clock, Epoch, IdSource, MachineId, OperationId, Person, Time, TurnId, TurnSeq,
};
use cs_record::{Card, JournalEntry, JournalRow, PeopleActs, Record, RowStore, Run, Send, SendTo, Turn};
use cs_testkit::{MemoryStore, SetClock};
use uuid::Uuid;

use crate::state::rows_text;

/// The route that both machines have.
pub(crate) const AGENT: &str = "scripted";

pub(crate) fn machine(number: usize) -> MachineId {
    MachineId::from_uuid(Uuid::from_u128(0x71 + number as u128))
}

pub(crate) fn card() -> CardId {
    CardId::from_uuid(id(1))
}

pub(crate) fn person() -> Person {
    "ada".parse().expect("a name")
}

/// Ids that begin at the time of the model's clock, which stands still.
pub(crate) fn id(number: u64) -> Uuid {
    let millis = u64::try_from(now().unix_micros() / 1_000).expect("after 1970");
    let mut tail = [0; 10];
    tail[2..].copy_from_slice(&number.to_be_bytes());
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
}

pub(crate) fn now() -> Time {
    SetClock::new().now()
}

/// The turns that a person says.
pub(crate) fn turn(number: usize) -> TurnId {
    TurnId::from_uuid(id(10 + number as u64))
}

/// Gives the ids that the step asks for, so that the same step gives the same ids whatever came before it.
#[derive(Debug)]
struct StepIds(Mutex<u64>);

impl IdSource for StepIds {
    fn uuid_v7(&self) -> Uuid {
        let mut next = self.0.lock().expect("no step panics with it");
        *next += 1;
        id(*next)
    }

    fn secret(&self) -> [u8; 32] {
        unreachable!("the record asks for no secret")
    }
}

/// One state of the record. A step makes a new one.
pub(crate) struct Rows {
    record: Record<MemoryStore>,
    pub(crate) card: Card,
    pub(crate) run: Option<Run>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) journal: Vec<JournalRow>,
    /// Whether each machine would find turns, and resumes.
    pub(crate) offers: [(bool, bool); 2],
    texts: OnceLock<[Vec<u8>; 2]>,
}

impl Rows {
    /// A card with one turn.
    pub(crate) fn new() -> Arc<Self> {
        let store = MemoryStore::new(Arc::new(SetClock::new()));
        let record = over(store, 0);
        let agent = AGENT.parse::<AgentName>().expect("a name");
        let to = SendTo::new_card(card(), "a card", agent);
        at_once(record.send(&Send::new(turn(1), to, person(), "please"))).expect("it is new");
        Arc::new(Self::look(record))
    }

    /// Carries out an operation on a copy. New ids are counted from `first_id`.
    pub(crate) fn after<T>(
        &self,
        first_id: u64,
        act: impl FnOnce(&Record<MemoryStore>) -> T,
    ) -> (Arc<Self>, T) {
        let record = over(at_once(self.record.store().backup()), first_id);
        let done = act(&record);
        (Arc::new(Self::look(record)), done)
    }

    /// Asks something that changes nothing.
    pub(crate) fn ask<T>(&self, act: impl FnOnce(&Record<MemoryStore>) -> T) -> T {
        act(&self.record)
    }

    fn look(record: Record<MemoryStore>) -> Self {
        let store = record.store();
        let card = at_once(store.card(card()))
            .expect("memory")
            .expect("it was made")
            .card;
        let run = card
            .owner
            .and_then(|owner| at_once(store.run(owner)).expect("memory"));
        let turns = at_once(store.turns(card.id, TurnSeq::START, 100)).expect("memory");
        let offers = [0, 1].map(|number| {
            let peeked = at_once(store.peek(machine(number), &[AGENT.to_owned()])).expect("memory");
            (peeked.turns, peeked.resumes)
        });
        let journal = at_once(store.journal());
        Self {
            card,
            run,
            turns: turns.expect("the card is there"),
            journal,
            offers,
            record,
            texts: OnceLock::new(),
        }
    }

    /// The record in bytes, also with the machines exchanged.
    pub(crate) fn text(&self, mirror: bool) -> &[u8] {
        let texts = self
            .texts
            .get_or_init(|| [rows_text(self, false), rows_text(self, true)]);
        &texts[usize::from(mirror)]
    }

    /// The last epoch that was given.
    pub(crate) fn epoch(&self) -> Epoch {
        self.run.as_ref().map_or(Epoch::NONE, |run| run.epoch)
    }

    pub(crate) fn entry(&self, operation: OperationId) -> Option<&JournalEntry> {
        let row = self.journal.iter().find(|row| row.operation == operation);
        row.map(|row| &row.entry)
    }

    /// Says whether two records hold the same, but for their versions.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.run, &self.turns, &self.journal) == (&other.run, &other.turns, &other.journal)
            && (self.card.state, self.card.ready) == (other.card.state, other.card.ready)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = self.run.as_ref().map(|run| (run.epoch, run.state));
        let turns: Vec<_> = self.turns.iter().map(|turn| turn.state).collect();
        write!(
            f,
            "{:?} {run:?} {turns:?} {}",
            self.card.state,
            self.journal.len()
        )
    }
}

fn over(store: MemoryStore, first_id: u64) -> Record<MemoryStore> {
    Record::new(store, Arc::new(StepIds(Mutex::new(first_id))))
}

/// Runs what waits for nothing, but for another thread of the checker that looks at the same rows.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
