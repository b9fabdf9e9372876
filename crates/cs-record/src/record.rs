//! The only loop of the record: lock, decide, commit.

mod agents;
mod attachments;
mod attempts;
mod claims;
mod errors;
mod events;
mod housekeeping;
mod landings;
mod machines;
mod people;
mod reads;
mod settlements;
mod standing;

use std::sync::Arc;

use cs_model::{IdSource, MachineId, OperationId};

use crate::Writes;
use crate::history;
use crate::journal::JournalRow;
use crate::store::{Facts, Lock, Locked, RowStore, Select, StoreError};

/// How often a decision is made anew after a lost race, before the record counts as away.
const MAX_RACES: u32 = 8;

/// The record over a store. It implements every port of the record; hold it as `Arc<dyn ...>`.
///
/// Every write is one transaction: the store locks the cards and loads them, a pure function of [`rules`](crate::rules) decides,
/// the events of what it wrote are added, and the store writes all rows and commits. A decision that changes nothing is rolled back, its journal row with it.
#[derive(Debug)]
pub struct Record<S> {
    store: S,
    ids: Arc<dyn IdSource>,
}

/// What a decision became.
enum Done<T> {
    /// It was made now.
    Decided(T),
    /// The operation was carried out, or fenced, before.
    Journaled(JournalRow),
}

impl<S: RowStore> Record<S> {
    /// Makes the record over a store; ids of runs and turns come from the source.
    pub fn new(store: S, ids: Arc<dyn IdSource>) -> Self {
        Self { store, ids }
    }

    /// Returns the store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Locks, decides and commits; a lost race is decided anew. `Unknown` is never tried again: the caller reconciles, or repeats
    /// a call whose fence or id makes the repetition harmless.
    async fn decide<T, E>(
        &self,
        operation: Option<(MachineId, OperationId)>,
        select: &Select,
        rule: impl Fn(&Facts) -> Result<(Writes, T), E> + Send + Sync,
    ) -> Result<Result<Done<T>, E>, StoreError>
    where
        T: Send,
        E: Send,
    {
        for _ in 0..MAX_RACES {
            match self.once(operation, select, &rule).await {
                Err(StoreError::Conflict) => {}
                done => return done,
            }
        }
        Err(StoreError::Conflict)
    }

    async fn once<T, E>(
        &self,
        operation: Option<(MachineId, OperationId)>,
        select: &Select,
        rule: &(impl Fn(&Facts) -> Result<(Writes, T), E> + Send + Sync),
    ) -> Result<Result<Done<T>, E>, StoreError>
    where
        T: Send,
        E: Send,
    {
        let Locked { tx, facts } = match self.store.lock(operation, select).await? {
            Lock::Held(locked) => locked,
            Lock::Journaled(row) => return Ok(Ok(Done::Journaled(row))),
        };
        match rule(&facts) {
            Ok((writes, value)) if writes.is_empty() => {
                self.store.rollback(tx).await?;
                Ok(Ok(Done::Decided(value)))
            }
            Ok((mut writes, value)) => {
                writes.events = history::events(&writes, facts.now);
                self.store.commit(tx, &writes).await?;
                Ok(Ok(Done::Decided(value)))
            }
            Err(refusal) => {
                self.store.rollback(tx).await?;
                Ok(Err(refusal))
            }
        }
    }

    /// Decides without an operation id.
    async fn decide_plain<T, E>(
        &self,
        select: &Select,
        rule: impl Fn(&Facts) -> Result<(Writes, T), E> + Send + Sync,
    ) -> Result<Result<T, E>, StoreError>
    where
        T: Send,
        E: Send,
    {
        match self.decide(None, select, rule).await? {
            Ok(Done::Decided(value)) => Ok(Ok(value)),
            Ok(Done::Journaled(row)) => {
                let operation = row.operation;
                Err(StoreError::Corrupt(format!(
                    "operation {operation} answered a write that has none"
                )))
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }
}
