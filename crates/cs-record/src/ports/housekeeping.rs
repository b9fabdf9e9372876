//! What the record forgets.

use std::fmt;

use async_trait::async_trait;
use cs_model::{MachineId, OperationId, Time};

use crate::RecordError;

/// A journal row that nobody can need any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldOperation {
    /// The operation.
    pub operation: OperationId,
    /// The machine that began it.
    pub machine: MachineId,
    /// What it did, as the journal stores it; `cancelled` for one that was fenced.
    pub kind: String,
    /// When its row was written.
    pub at: Time,
}

/// Keeps the record small.
#[async_trait]
pub trait Housekeeping: fmt::Debug + Send + Sync {
    /// Removes journal rows, oldest first, at most `limit` in one transaction, and returns them; with `dry_run` it only returns
    /// them. A row may go when it is older than 7 days and every attempt that it names ended more than 7 days ago or was followed
    /// by another one. A claim with an id that old is refused by its age, so that a row that is gone can never be taken twice.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, RecordError>;
}
