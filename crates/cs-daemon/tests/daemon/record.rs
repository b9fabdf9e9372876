//! A record in memory that does something else at the calls that a test names.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cs_daemon::RecordPorts;
use cs_fence::{
    Attempt, AttemptRecord, FenceError, Fenced, InterruptOutcome, Interruption, LandingAttempt, ProcessFact,
    Standing, TokenHash,
};
use cs_journal::{ClaimError, ClaimRecord, ClaimRequest, Receipt, Reconciled};
use cs_model::{AttachmentId, CardId, Epoch, LandingId, MachineId, OperationId, PauseKind, Person, RunId};
use cs_record::{
    Content, DaemonReads, FencedLanding, HeldProcess, Housekeeping, LandingBrief, LandingRecord,
    LandingResult, LeftProcess, LiveLimit, Machines, OldOperation, Park, Pause, Peeked, PeopleActs, Present,
    Record, RecordError, Route, RunBrief, Scope, StoppedRun,
};
use cs_settle::{Answer, Answered, Capped, GaveUp, GiveUp, SettleError, SettlementRecord, Used};
use cs_testkit::MemoryStore;

/// A call that a test can disturb or count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Answer,
    Claim,
    Forget,
    GiveUp,
    Interrupt,
    Pauses,
    Peek,
    Present,
    Reconcile,
    RecordProcess,
    RunBrief,
    RunningRuns,
    SettleLanding,
    Standing,
    StoppedRuns,
    Used,
}

/// What happens instead of a call, or before it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Instead {
    /// It is passed on.
    Pass,
    /// The record is away.
    Away,
    /// A row cannot be read.
    Corrupt,
    /// The record does not answer at all.
    Silent,
    /// A report of interruptions is answered without its run.
    LeaveOut,
    /// A person stops the card first.
    Stop(CardId),
    /// A person pauses everything first.
    Pause,
}

/// The record, and what is planned for its calls, first to last.
#[derive(Debug)]
pub(crate) struct Disturbed {
    pub(crate) record: Arc<Record<MemoryStore>>,
    plan: Mutex<BTreeMap<Call, Vec<Instead>>>,
    met: Mutex<Vec<Call>>,
}

impl Disturbed {
    pub(crate) fn new(record: Record<MemoryStore>) -> Arc<Self> {
        Arc::new(Self {
            record: Arc::new(record),
            plan: Mutex::default(),
            met: Mutex::default(),
        })
    }

    /// Plans what happens at the next calls.
    pub(crate) fn plan(&self, call: Call, instead: impl IntoIterator<Item = Instead>) {
        let mut plan = self.plan.lock().unwrap();
        plan.entry(call).or_default().extend(instead);
    }

    /// How often each call was made.
    pub(crate) fn met(&self) -> BTreeMap<Call, usize> {
        let mut met = BTreeMap::new();
        for call in self.met.lock().unwrap().iter() {
            *met.entry(*call).or_default() += 1;
        }
        met
    }

    /// All calls that were made, in their order; from now on they are counted anew.
    pub(crate) fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut *self.met.lock().unwrap())
    }

    pub(crate) fn ports(self: &Arc<Self>) -> RecordPorts {
        RecordPorts {
            claims: self.clone(),
            attempts: self.clone(),
            settlements: self.clone(),
            landings: self.clone(),
            reads: self.clone(),
            cards: self.record.clone(),
            agents: self.record.clone(),
            machines: self.clone(),
            housekeeping: self.clone(),
        }
    }

    /// Does what is planned for this call; says whether the record is away.
    async fn meet(&self, call: Call) -> Result<(), std::io::Error> {
        self.meet_whole(call).await.map(drop)
    }

    /// Does what is planned for this call; says whether the record is away, or else whether its answer is whole.
    async fn meet_whole(&self, call: Call) -> Result<bool, std::io::Error> {
        self.met.lock().unwrap().push(call);
        let next = {
            let mut plan = self.plan.lock().unwrap();
            let calls = plan.entry(call).or_default();
            (!calls.is_empty()).then(|| calls.remove(0))
        };
        let person: Person = "Ada".parse().unwrap();
        match next.unwrap_or(Instead::Pass) {
            Instead::Pass => Ok(true),
            Instead::LeaveOut => Ok(false),
            Instead::Silent => std::future::pending().await,
            Instead::Corrupt => Err(std::io::ErrorKind::InvalidData.into()),
            Instead::Away => Err(std::io::Error::other("as planned")),
            Instead::Stop(card) => {
                self.record.stop_card(card, &person).await.unwrap();
                Ok(true)
            }
            Instead::Pause => {
                self.record
                    .pause(Scope::Everything, PauseKind::Pause, None, &person)
                    .await
                    .unwrap();
                Ok(true)
            }
        }
    }
}

fn away(error: std::io::Error) -> RecordError {
    if error.kind() == std::io::ErrorKind::InvalidData {
        return RecordError::Corrupt("as planned".to_owned());
    }
    RecordError::Away(Box::new(error))
}

fn fence(error: std::io::Error) -> FenceError {
    FenceError::Away(Box::new(error))
}

#[async_trait]
impl ClaimRecord for Disturbed {
    async fn claim(
        &self,
        machine: MachineId,
        operation: OperationId,
        request: &ClaimRequest,
    ) -> Result<Receipt, ClaimError> {
        let met = self.meet(Call::Claim).await;
        met.map_err(|error| ClaimError::Away(Box::new(error)))?;
        self.record.claim(machine, operation, request).await
    }

    async fn reconcile(&self, machine: MachineId, operation: OperationId) -> Result<Reconciled, ClaimError> {
        let met = self.meet(Call::Reconcile).await;
        met.map_err(|error| ClaimError::Away(Box::new(error)))?;
        self.record.reconcile(machine, operation).await
    }
}

#[async_trait]
impl LandingRecord for Disturbed {
    async fn settle_landing(
        &self,
        attempt: &LandingAttempt,
        result: &LandingResult,
    ) -> Result<FencedLanding, RecordError> {
        self.meet(Call::SettleLanding).await.map_err(away)?;
        self.record.settle_landing(attempt, result).await
    }

    async fn release_landing(&self, attempt: &LandingAttempt) -> Result<FencedLanding, RecordError> {
        self.record.release_landing(attempt).await
    }
}

#[async_trait]
impl Housekeeping for Disturbed {
    async fn forget_operations(&self, limit: u32, dry_run: bool) -> Result<Vec<OldOperation>, RecordError> {
        self.meet(Call::Forget).await.map_err(away)?;
        self.record.forget_operations(limit, dry_run).await
    }
}

#[async_trait]
impl AttemptRecord for Disturbed {
    async fn standing(&self, attempt: &Attempt) -> Result<Fenced<Standing>, FenceError> {
        self.meet(Call::Standing).await.map_err(fence)?;
        self.record.standing(attempt).await
    }

    async fn record_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError> {
        self.meet(Call::RecordProcess).await.map_err(fence)?;
        self.record.record_process(attempt, process).await
    }

    async fn clear_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError> {
        self.record.clear_process(attempt, process).await
    }

    async fn mark_incomplete(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
        left: &str,
    ) -> Result<Fenced<()>, FenceError> {
        self.record.mark_incomplete(attempt, process, left).await
    }

    async fn interrupt(
        &self,
        machine: MachineId,
        operation: OperationId,
        attempts: &[Interruption],
    ) -> Result<Vec<(RunId, InterruptOutcome)>, FenceError> {
        if !self.meet_whole(Call::Interrupt).await.map_err(fence)? {
            return Ok(Vec::new());
        }
        self.record.interrupt(machine, operation, attempts).await
    }
}

#[async_trait]
impl SettlementRecord for Disturbed {
    async fn answer(&self, attempt: &Attempt, answer: &Answer) -> Result<Fenced<Answered>, SettleError> {
        let met = self.meet(Call::Answer).await;
        met.map_err(|error| SettleError::Away(Box::new(error)))?;
        self.record.answer(attempt, answer).await
    }

    async fn give_up(&self, attempt: &Attempt, failure: &GiveUp) -> Result<Fenced<GaveUp>, SettleError> {
        let met = self.meet(Call::GiveUp).await;
        met.map_err(|error| SettleError::Away(Box::new(error)))?;
        self.record.give_up(attempt, failure).await
    }

    async fn capped(&self, attempt: &Attempt, capped: &Capped) -> Result<Fenced<GaveUp>, SettleError> {
        let met = self.meet(Call::GiveUp).await;
        met.map_err(|error| SettleError::Away(Box::new(error)))?;
        self.record.capped(attempt, capped).await
    }

    async fn used(&self, attempt: &Attempt, used: &Used) -> Result<Fenced<()>, SettleError> {
        let met = self.meet(Call::Used).await;
        met.map_err(|error| SettleError::Away(Box::new(error)))?;
        self.record.used(attempt, used).await
    }
}

#[async_trait]
impl DaemonReads for Disturbed {
    async fn peek(&self, machine: MachineId, agents: &[String]) -> Result<Peeked, RecordError> {
        self.meet(Call::Peek).await.map_err(away)?;
        self.record.peek(machine, agents).await
    }

    async fn run_brief(&self, attempt: &Attempt) -> Result<Fenced<RunBrief>, RecordError> {
        self.meet(Call::RunBrief).await.map_err(away)?;
        self.record.run_brief(attempt).await
    }

    async fn attached(&self, attachment: AttachmentId) -> Result<Content, RecordError> {
        DaemonReads::attached(self.record.as_ref(), attachment).await
    }

    async fn landing_brief(&self, landing: LandingId) -> Result<LandingBrief, RecordError> {
        self.record.landing_brief(landing).await
    }

    async fn stopped_runs(&self, machine: MachineId) -> Result<Vec<StoppedRun>, RecordError> {
        self.meet(Call::StoppedRuns).await.map_err(away)?;
        self.record.stopped_runs(machine).await
    }

    async fn running_runs(&self, machine: MachineId) -> Result<Vec<HeldProcess>, RecordError> {
        self.meet(Call::RunningRuns).await.map_err(away)?;
        self.record.running_runs(machine).await
    }
}

#[async_trait]
impl Machines for Disturbed {
    async fn present(&self, present: &Present) -> Result<(), RecordError> {
        self.meet(Call::Present).await.map_err(away)?;
        self.record.present(present).await
    }

    async fn leave(&self, machine: MachineId, daemon: TokenHash) -> Result<(), RecordError> {
        self.record.leave(machine, daemon).await
    }

    async fn hand_back_run(&self, machine: MachineId, run: RunId, epoch: Epoch) -> Result<bool, RecordError> {
        self.record.hand_back_run(machine, run, epoch).await
    }

    async fn forget_process(&self, machine: MachineId, left: &LeftProcess) -> Result<bool, RecordError> {
        self.record.forget_process(machine, left).await
    }

    async fn hand_back_landing(
        &self,
        machine: MachineId,
        landing: LandingId,
        epoch: Epoch,
    ) -> Result<bool, RecordError> {
        self.record.hand_back_landing(machine, landing, epoch).await
    }

    async fn pause(
        &self,
        scope: Scope,
        kind: PauseKind,
        reason: Option<&str>,
        by: &Person,
    ) -> Result<Pause, RecordError> {
        self.record.pause(scope, kind, reason, by).await
    }

    async fn unpause(&self, scope: Scope) -> Result<bool, RecordError> {
        self.record.unpause(scope).await
    }

    async fn pauses(&self, machine: MachineId) -> Result<Vec<Pause>, RecordError> {
        self.meet(Call::Pauses).await.map_err(away)?;
        self.record.pauses(machine).await
    }

    async fn limit(&self, scope: Scope, most: Option<u32>, by: &Person) -> Result<(), RecordError> {
        self.record.limit(scope, most, by).await
    }

    async fn limits(&self) -> Result<Vec<LiveLimit>, RecordError> {
        self.record.limits().await
    }

    async fn parks(&self, machine: MachineId) -> Result<Vec<Park>, RecordError> {
        self.record.parks(machine).await
    }

    async fn unpark(&self, route: &Route) -> Result<bool, RecordError> {
        self.record.unpark(route).await
    }
}
