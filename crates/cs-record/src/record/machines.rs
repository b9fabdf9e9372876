//! Machines and pauses.

use async_trait::async_trait;
use cs_fence::TokenHash;
use cs_model::{Epoch, LandingId, MachineId, PauseKind, Person, RunId, Time};

use super::Record;
use crate::store::{Registered, RowStore, Select, StoreError};
use crate::{
    Aggregate, LeftProcess, LiveLimit, Machines, Park, Pause, Present, RecordError, Refusal, Route, Scope,
    Writes, rules,
};

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

    async fn forget_process(&self, machine: MachineId, left: &LeftProcess) -> Result<bool, RecordError> {
        self.hand_back(&Select::Runs(vec![left.run]), |card, now| {
            rules::forget_process(card, machine, left, now)
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
        scope: Scope,
        kind: PauseKind,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, RecordError> {
        Ok(self.store.pause(scope, kind, reason, by).await?)
    }

    async fn unpause(&self, scope: Scope) -> Result<bool, RecordError> {
        Ok(self.store.unpause(scope).await?)
    }

    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, RecordError> {
        Ok(self.store.pauses(machine).await?)
    }

    async fn limit(&self, scope: Scope, most: Option<u32>, by: &Person) -> Result<(), RecordError> {
        match scope {
            Scope::Everything => Err(Refusal::LimitOfEverything.into()),
            Scope::Machine(_) | Scope::Codebase(_) => Ok(self.store.limit(scope, most, by).await?),
        }
    }

    async fn limits(&self) -> Result<Vec<LiveLimit>, RecordError> {
        Ok(self.store.limits().await?)
    }

    async fn parks(&self, machine: MachineId) -> Result<Vec<Park>, RecordError> {
        Ok(self.store.parks(machine).await?)
    }

    async fn unpark(&self, route: &Route) -> Result<bool, RecordError> {
        Ok(self.store.unpark(route).await?)
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
