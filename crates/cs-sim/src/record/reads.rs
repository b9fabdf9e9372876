//! What a daemon reads and says, on its way.

use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, TokenHash};
use cs_model::{AskId, AttachmentId, CardId, Epoch, LandingId, MachineId, PauseKind, Person, RunId, TurnSeq};
use cs_record::{
    Ask, CardDetail, CardFilter, CardReads, CardSummary, Content, DaemonReads, HeldProcess, Housekeeping,
    LandingBrief, LeftProcess, Listed, LiveLimit, Machines, OldOperation, Park, Pause, Peeked, Present,
    RecordError, Route, RunBrief, Scope, StoppedRun, Turn,
};

use super::{Boxed, Remote, away};
use crate::broken::Mutant;
use crate::invariant::Deed;

/// Sends one call on; what it is given is copied for each time that it arrives.
macro_rules! sent {
    ($remote:expr, $what:literal, $method:ident($($given:ident),*)) => {{
        let send = || {
            let world = Arc::clone(&$remote.0.world);
            $(let $given = $given;)*
            Box::pin(async move { world.record.$method($($given),*).await }) as Boxed<_>
        };
        $remote.send($what, away, send).await
    }};
}

#[async_trait]
impl DaemonReads for Remote {
    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, RecordError> {
        let send = || {
            let (world, agents) = (Arc::clone(&self.0.world), agents.to_vec());
            Box::pin(async move {
                let mut peeked = world.record.peek(machine, &agents).await;
                if world.is_mutant(Mutant::TurnsAreOverlooked)
                    && let Ok(peeked) = &mut peeked
                {
                    peeked.turns = false;
                }
                peeked
            }) as Boxed<_>
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

    async fn attached(&self, attachment: AttachmentId) -> Result<Content, RecordError> {
        sent!(self, "attachment", attached(attachment))
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
        let _ = given;
        self.nobody_asks("find card")
    }

    async fn find_ask(&self, given: &str) -> Result<AskId, RecordError> {
        let _ = given;
        self.nobody_asks("find ask")
    }

    async fn cards(&self, filter: CardFilter) -> Result<Listed<CardSummary>, RecordError> {
        sent!(self, "cards", cards(filter))
    }

    async fn card(&self, card: CardId) -> Result<CardDetail, RecordError> {
        sent!(self, "card", card(card))
    }

    async fn turns(&self, _: CardId, _: TurnSeq, _: u32) -> Result<Vec<Turn>, RecordError> {
        self.nobody_asks("turns")
    }

    async fn open_asks(&self) -> Result<Listed<(Ask, String)>, RecordError> {
        self.nobody_asks("open asks")
    }
}

#[async_trait]
impl Machines for Remote {
    async fn present(&self, present: &Present) -> Result<(), RecordError> {
        let send = || {
            let (world, present) = (Arc::clone(&self.0.world), present.clone());
            Box::pin(async move { world.record.present(&present).await }) as Boxed<_>
        };
        self.write("present", away, send, |()| Deed::Kept).await
    }

    async fn leave(&self, _: MachineId, _: TokenHash) -> Result<(), RecordError> {
        self.nobody_asks("leave")
    }

    async fn hand_back_run(&self, machine: MachineId, run: RunId, epoch: Epoch) -> Result<bool, RecordError> {
        let send = || {
            let world = Arc::clone(&self.0.world);
            Box::pin(async move { world.record.hand_back_run(machine, run, epoch).await }) as Boxed<_>
        };
        let deed = move |applied: &bool| Deed::RunGivenBack {
            machine,
            run,
            epoch,
            applied: *applied,
        };
        self.write("hand back a run", away, send, deed).await
    }

    async fn forget_process(&self, machine: MachineId, left: &LeftProcess) -> Result<bool, RecordError> {
        let send = || {
            let (world, left) = (Arc::clone(&self.0.world), left.clone());
            Box::pin(async move { world.record.forget_process(machine, &left).await }) as Boxed<_>
        };
        let left = left.clone();
        let deed = move |applied: &bool| Deed::ProcessForgotten {
            machine,
            left: left.clone(),
            applied: *applied,
        };
        self.write("forget a process", away, send, deed).await
    }

    async fn hand_back_landing(
        &self,
        machine: MachineId,
        landing: LandingId,
        epoch: Epoch,
    ) -> Result<bool, RecordError> {
        let send = || {
            let world = Arc::clone(&self.0.world);
            Box::pin(async move { world.record.hand_back_landing(machine, landing, epoch).await }) as Boxed<_>
        };
        let deed = move |applied: &bool| Deed::LandingGivenBack {
            machine,
            landing,
            epoch,
            applied: *applied,
        };
        self.write("hand back a landing", away, send, deed).await
    }

    async fn pause(&self, _: Scope, _: PauseKind, _: Option<&str>, _: &Person) -> Result<Pause, RecordError> {
        self.nobody_asks("pause")
    }

    async fn unpause(&self, _: Scope) -> Result<bool, RecordError> {
        self.nobody_asks("unpause")
    }

    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, RecordError> {
        let pauses = sent!(self, "pauses", pauses(machine));
        if self.0.world.is_mutant(Mutant::AdmissionIsNotAsked) {
            return pauses.map(|_| Vec::new());
        }
        pauses
    }

    async fn limit(&self, _: Scope, _: Option<u32>, _: &Person) -> Result<(), RecordError> {
        self.nobody_asks("limit")
    }

    async fn limits(&self) -> Result<Vec<LiveLimit>, RecordError> {
        self.nobody_asks("limits")
    }

    async fn parks(&self, _: MachineId) -> Result<Vec<Park>, RecordError> {
        self.nobody_asks("parks")
    }

    async fn unpark(&self, _: &Route) -> Result<bool, RecordError> {
        self.nobody_asks("unpark")
    }
}

#[async_trait]
impl Housekeeping for Remote {
    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, RecordError> {
        let send = || {
            let world = Arc::clone(&self.0.world);
            Box::pin(async move { world.record.forget_operations(limit, dry_run).await }) as Boxed<_>
        };
        let deed = |_: &Vec<OldOperation>| Deed::Kept;
        self.write("forget operations", away, send, deed).await
    }
}
