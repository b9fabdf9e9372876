//! What a daemon reads and says, on its way.

use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, TokenHash};
use cs_model::{AskId, CardId, Epoch, LandingId, MachineId, PauseKind, Person, RunId, TurnSeq};
use cs_record::{
    Ask, CardDetail, CardFilter, CardReads, CardSummary, DaemonReads, HeldProcess, Housekeeping,
    LandingBrief, Listed, LiveLimit, Machines, OldOperation, Park, Pause, Peeked, Present, RecordError,
    Route, RunBrief, Scope, StoppedRun, Turn,
};

use super::{Boxed, Remote, away};
use crate::invariant::Event;

/// Sends one call on; what it is given is copied for each time that it arrives.
macro_rules! sent {
    ($remote:expr, $what:literal, $method:ident($($given:ident),*)) => {{
        let send = || {
            let world = Arc::clone(&$remote.0.world);
            $(let $given = $given;)*
            Box::pin(async move {
                let answer = world.record.$method($($given),*).await;
                world.see(&Event::Step);
                answer
            }) as Boxed<_>
        };
        $remote.send($what, away, send).await
    }};
}

#[async_trait]
impl DaemonReads for Remote {
    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, RecordError> {
        let send = || {
            let (world, agents) = (Arc::clone(&self.0.world), agents.to_vec());
            Box::pin(async move { world.record.peek(machine, &agents).await }) as Boxed<_>
        };
        self.send("peek", away, send).await
    }

    async fn run_brief(&self, attempt: &Attempt) -> Result<Fenced<RunBrief>, RecordError> {
        let send = || {
            let (world, attempt) = (Arc::clone(&self.0.world), *attempt);
            Box::pin(async move { world.record.run_brief(&attempt).await }) as Boxed<_>
        };
        self.send("run brief", away, send).await
    }

    async fn landing_brief(&self, landing: LandingId) -> Result<LandingBrief, RecordError> {
        sent!(self, "landing brief", landing_brief(landing))
    }

    async fn stopped_runs(&self, machine: MachineId) -> Result<Vec<StoppedRun>, RecordError> {
        sent!(self, "stopped runs", stopped_runs(machine))
    }

    async fn running_runs(&self, machine: MachineId) -> Result<Vec<HeldProcess>, RecordError> {
        sent!(self, "running runs", running_runs(machine))
    }
}

#[async_trait]
impl CardReads for Remote {
    async fn find_card(&self, given: &str) -> Result<CardId, RecordError> {
        self.0.world.record.find_card(given).await
    }

    async fn find_ask(&self, given: &str) -> Result<AskId, RecordError> {
        self.0.world.record.find_ask(given).await
    }

    async fn cards(&self, filter: CardFilter) -> Result<Listed<CardSummary>, RecordError> {
        sent!(self, "cards", cards(filter))
    }

    async fn card(&self, card: CardId) -> Result<CardDetail, RecordError> {
        sent!(self, "card", card(card))
    }

    async fn turns(&self, card: CardId, after: TurnSeq, limit: u32) -> Result<Vec<Turn>, RecordError> {
        self.0.world.record.turns(card, after, limit).await
    }

    async fn open_asks(&self) -> Result<Listed<(Ask, String)>, RecordError> {
        self.0.world.record.open_asks().await
    }
}

#[async_trait]
impl Machines for Remote {
    async fn present(&self, present: &Present) -> Result<(), RecordError> {
        let send = || {
            let (world, present) = (Arc::clone(&self.0.world), present.clone());
            Box::pin(async move { world.record.present(&present).await }) as Boxed<_>
        };
        self.send("present", away, send).await
    }

    async fn leave(&self, machine: MachineId, daemon: TokenHash) -> Result<(), RecordError> {
        sent!(self, "leave", leave(machine, daemon))
    }

    async fn hand_back_run(&self, machine: MachineId, run: RunId, epoch: Epoch) -> Result<bool, RecordError> {
        sent!(self, "hand back a run", hand_back_run(machine, run, epoch))
    }

    async fn hand_back_landing(
        &self,
        machine: MachineId,
        landing: LandingId,
        epoch: Epoch,
    ) -> Result<bool, RecordError> {
        sent!(
            self,
            "hand back a landing",
            hand_back_landing(machine, landing, epoch)
        )
    }

    async fn pause(
        &self,
        scope: Scope,
        kind: PauseKind,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, RecordError> {
        self.0.world.record.pause(scope, kind, reason, by).await
    }

    async fn unpause(&self, scope: Scope) -> Result<bool, RecordError> {
        self.0.world.record.unpause(scope).await
    }

    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, RecordError> {
        sent!(self, "pauses", pauses(machine))
    }

    async fn limit(&self, scope: Scope, most: Option<u32>, by: &Person) -> Result<(), RecordError> {
        self.0.world.record.limit(scope, most, by).await
    }

    async fn limits(&self) -> Result<Vec<LiveLimit>, RecordError> {
        self.0.world.record.limits().await
    }

    async fn parks(&self, machine: MachineId) -> Result<Vec<Park>, RecordError> {
        self.0.world.record.parks(machine).await
    }

    async fn unpark(&self, route: &Route) -> Result<bool, RecordError> {
        self.0.world.record.unpark(route).await
    }
}

#[async_trait]
impl Housekeeping for Remote {
    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, RecordError> {
        sent!(self, "forget operations", forget_operations(limit, dry_run))
    }
}
