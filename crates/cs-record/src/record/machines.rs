//! Machines and pauses.

use async_trait::async_trait;
use cs_fence::TokenHash;
use cs_model::{Epoch, LandingId, MachineId, Person, RunId, Time};

use super::Record;
use crate::store::{Registered, RowStore, Select, StoreError};
use crate::{Aggregate, Machines, Pause, PauseScope, Present, RecordError, Refusal, Writes, rules};

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

    async fn hand_back_run(&self, machine: MachineId, run: RunId, epoch: Epoch) -> Result<bool, RecordError> {
        self.hand_back(&Select::Runs(vec![run]), |card, now| {
            rules::hand_back_run(card, machine, run, epoch, now)
        })
        .await
    }

    async fn hand_back_landing(
        &self,
        machine: MachineId,
        landing: LandingId,
        epoch: Epoch,
    ) -> Result<bool, RecordError> {
        self.hand_back(&Select::Landing(landing), |card, now| {
            rules::hand_back_landing(card, machine, landing, epoch, now)
        })
        .await
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

impl<S: RowStore> Record<S> {
    async fn hand_back(
        &self,
        select: &Select,
        rule: impl Fn(&Aggregate, Time) -> (Writes, bool) + Send + Sync,
    ) -> Result<bool, RecordError> {
        let decided = self
            .decide_plain(select, |facts| match facts.cards.first() {
                Some(card) => Ok::<_, StoreError>(rule(card, facts.now)),
                None => Ok((Writes::default(), false)),
            })
            .await?;
        Ok(decided?)
    }
}
