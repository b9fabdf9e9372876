//! Machines and pauses.

use async_trait::async_trait;
use cs_fence::TokenHash;
use cs_model::{MachineId, Person};

use super::Record;
use crate::store::{Registered, RowStore};
use crate::{Machines, Pause, PauseScope, Present, RecordError, Refusal};

#[async_trait]
impl<S: RowStore> Machines for Record<S> {
    async fn present(&self, present: &Present) -> Result<(), RecordError> {
        match self.store.present(present).await? {
            Registered::Written(()) => Ok(()),
            Registered::Taken(seen_at) => Err(Refusal::MachineHeld { seen_at }.into()),
        }
    }

    async fn leave(&self, machine: MachineId, daemon: TokenHash) -> Result<(), RecordError> {
        Ok(self.store.leave(machine, daemon).await?)
    }

    async fn pause(
        &self,
        scope: PauseScope,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, RecordError> {
        Ok(self.store.pause(scope, reason, by).await?)
    }

    async fn unpause(&self, scope: PauseScope) -> Result<bool, RecordError> {
        Ok(self.store.unpause(scope).await?)
    }

    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, RecordError> {
        Ok(self.store.pauses(machine).await?)
    }
}
