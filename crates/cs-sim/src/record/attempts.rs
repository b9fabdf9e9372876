//! The facts of attempts on their way.

use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::{
    Attempt, AttemptRecord, FenceError, Fenced, InterruptOutcome, Interruption, ProcessFact, Standing,
};
use cs_model::{MachineId, OperationId, RunId, RunState};

use super::{Boxed, Remote, lost};
use crate::broken::{Mutant, machine_taken_for, taken_for};
use crate::invariant::{Deed, Event, Fact};

fn away() -> FenceError {
    FenceError::Away(lost())
}

#[async_trait]
impl AttemptRecord for Remote {
    async fn standing(&self, attempt: &Attempt) -> Result<Fenced<Standing>, FenceError> {
        if self.0.world.is_mutant(Mutant::RowIsNotRead) {
            let row = Some((attempt.epoch, RunState::Running));
            let run = attempt.run;
            return Ok(Fenced::Applied(Standing { run, row }));
        }
        let send = || {
            let (world, attempt) = (Arc::clone(&self.0.world), *attempt);
            Box::pin(async move { world.record.standing(&attempt).await }) as Boxed<_>
        };
        let standing = self.send("standing", away, send).await;
        if let Ok(Fenced::Applied(_)) = &standing {
            self.0.world.see(&Event::ReadAgain { attempt: *attempt });
        }
        standing
    }

    async fn record_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError> {
        let request = || {
            let (world, attempt, process) = (Arc::clone(&self.0.world), *attempt, process.clone());
            Box::pin(async move {
                let attempt = taken_for(&world, Mutant::NoFenceForProcesses, attempt);
                world.record.record_process(&attempt, &process).await
            }) as Boxed<_>
        };
        let deed = fact(*attempt, Fact::Runs, process);
        self.write("record process", away, request, deed).await
    }

    async fn clear_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError> {
        let request = || {
            let (world, attempt, process) = (Arc::clone(&self.0.world), *attempt, process.clone());
            Box::pin(async move { world.record.clear_process(&attempt, &process).await }) as Boxed<_>
        };
        let deed = fact(*attempt, Fact::Gone, process);
        self.write("clear process", away, request, deed).await
    }

    async fn mark_incomplete(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
        left: &str,
    ) -> Result<Fenced<()>, FenceError> {
        let request = || {
            let (world, attempt, process) = (Arc::clone(&self.0.world), *attempt, process.clone());
            let left = left.to_owned();
            Box::pin(async move { world.record.mark_incomplete(&attempt, &process, &left).await }) as Boxed<_>
        };
        let deed = fact(*attempt, Fact::LeftBehind, process);
        self.write("mark incomplete", away, request, deed).await
    }

    async fn interrupt(
        &self,
        machine: MachineId,
        operation: OperationId,
        attempts: &[Interruption],
    ) -> Result<Vec<(RunId, InterruptOutcome)>, FenceError> {
        let reports = attempts.to_vec();
        let request = || {
            let (world, mut attempts) = (Arc::clone(&self.0.world), attempts.to_vec());
            Box::pin(async move {
                let mut machine = machine;
                for one in &mut attempts {
                    machine =
                        machine_taken_for(&world, Mutant::NoFenceForInterruptions, one.attempt.run, machine);
                    one.attempt = taken_for(&world, Mutant::NoFenceForInterruptions, one.attempt);
                }
                let answer = world.record.interrupt(machine, operation, &attempts).await;
                if let Ok(outcomes) = &answer {
                    world.count("interruptions");
                    world.note(format_args!("{operation} interrupts: {outcomes:?}"));
                }
                answer
            }) as Boxed<_>
        };
        let deed = move |outcomes: &Vec<(RunId, InterruptOutcome)>| Deed::Interrupted {
            machine,
            operation,
            reports: reports.clone(),
            outcomes: outcomes.clone(),
        };
        self.write("interrupt", away, request, deed).await
    }
}

fn fact(
    attempt: Attempt,
    fact: Fact,
    process: &ProcessFact,
) -> impl Fn(&Fenced<()>) -> Deed + Clone + Send + 'static {
    let process = process.clone();
    move |answer| Deed::Noted {
        attempt,
        fact,
        process: process.clone(),
        applied: matches!(answer, Fenced::Applied(())),
    }
}
