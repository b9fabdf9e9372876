//! The record's claims with the borders of the start protocol between them.

use std::sync::Arc;

use async_trait::async_trait;
use cs_journal::{ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{MachineId, OperationId};

use crate::borders::{Border, Borders};

/// Passes every call on; between the calls a test may end the process.
#[derive(Debug)]
pub(crate) struct WithBorders {
    record: Arc<dyn ClaimRecord>,
    borders: Borders,
}

impl WithBorders {
    pub(crate) fn new(record: Arc<dyn ClaimRecord>, borders: Borders) -> Self {
        Self { record, borders }
    }
}

#[async_trait]
impl ClaimRecord for WithBorders {
    async fn claim(
        &self,
        machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        self.borders.reach(Border::P2);
        let answer = self.record.claim(machine, operation, request).await;
        self.borders.reach(Border::P3);
        answer
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        let answer = self.record.reconcile(machine, operation).await;
        self.borders.reach(Border::P4);
        answer
    }
}
