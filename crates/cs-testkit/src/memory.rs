//! The record in memory, as strict as a database: the same constraints, the same counted writes, one transaction at a time.

mod constraints;
mod events;
mod kept;
mod reads;
mod retention;
mod select;
mod store;
mod tables;

use std::fmt;
use std::sync::Arc;

use cs_model::{Clock, OperationId};
use cs_record::{Ask, Card, Dependency, JournalRow, Landing, Run, Turn};
use tokio::sync::{Mutex, OwnedMutexGuard};

use tables::Tables;

/// A store in memory. It copies rows in and out, and its one lock stands for those of the cards.
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
    history: Arc<events::History>,
    clock: Arc<dyn Clock>,
}

impl MemoryStore {
    /// Makes an empty record whose time is that of the clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            tables: Arc::default(),
            history: Arc::default(),
            clock,
        }
    }

    /// Makes a copy of the present rows, as a backup would.
    pub async fn backup(&self) -> Self {
        let tables = self.tables.lock().await;
        Self {
            history: Arc::new(self.history.copy()),
            tables: Arc::new(Mutex::new(tables.clone())),
            clock: Arc::clone(&self.clock),
        }
    }
}

impl MemoryStore {
    /// Returns the journal rows, by operation.
    pub async fn journal(&self) -> Vec<JournalRow> {
        self.tables.lock().await.journal.values().cloned().collect()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore(..)")
    }
}

/// A transaction of the memory store. Dropping it lets go of the lock; nothing was changed.
#[derive(Debug)]
pub struct MemoryTx {
    tables: OwnedMutexGuard<Tables>,
    operation: Option<OperationId>,
    machine: Option<cs_model::MachineId>,
    /// The cards whose lock this transaction holds.
    locked: Vec<cs_model::CardId>,
}

/// All rows of a memory store that a law or an invariant looks at, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Cards, by id.
    pub cards: Vec<Card>,
    /// Runs, by id.
    pub runs: Vec<Run>,
    /// Turns, by id.
    pub turns: Vec<Turn>,
    /// Questions and offers, by id.
    pub asks: Vec<Ask>,
    /// Landings, by id.
    pub landings: Vec<Landing>,
    /// The journal, by operation.
    pub journal: Vec<JournalRow>,
    /// What cards wait for, done or not.
    pub dependencies: Vec<Dependency>,
}

impl MemoryStore {
    /// Returns another handle on the same rows.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self {
            tables: Arc::clone(&self.tables),
            history: Arc::clone(&self.history),
            clock: Arc::clone(&self.clock),
        }
    }

    /// Returns the present rows; nothing while a transaction holds them.
    #[must_use]
    pub fn rows(&self) -> Option<Rows> {
        let tables = self.tables.try_lock().ok()?;
        Some(Rows {
            cards: tables.cards.values().cloned().collect(),
            runs: tables.runs.values().cloned().collect(),
            turns: tables.turns.values().cloned().collect(),
            asks: tables.asks.values().cloned().collect(),
            landings: tables.landings.values().cloned().collect(),
            journal: tables.journal.values().cloned().collect(),
            dependencies: tables.dependencies.iter().copied().collect(),
        })
    }

    /// Changes rows as a store would that is broken: past every rule and constraint. Only for tests that want it noticed; nothing while a
    /// transaction holds the rows.
    pub fn spoil(&self, change: impl FnOnce(&mut Rows)) {
        let Some(mut rows) = self.rows() else { return };
        change(&mut rows);
        let Ok(mut tables) = self.tables.try_lock() else {
            return;
        };
        tables.cards = rows.cards.into_iter().map(|row| (row.id, row)).collect();
        tables.runs = rows.runs.into_iter().map(|row| (row.id, row)).collect();
        tables.turns = rows.turns.into_iter().map(|row| (row.id, row)).collect();
        tables.asks = rows.asks.into_iter().map(|row| (row.id, row)).collect();
        tables.landings = rows.landings.into_iter().map(|row| (row.id, row)).collect();
        tables.dependencies = rows.dependencies.into_iter().collect();
        tables.journal = rows.journal.into_iter().map(|row| (row.operation, row)).collect();
    }
}
