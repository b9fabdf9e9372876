//! The facts of attempts on their way.

use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::{
    Attempt, AttemptRecord, FenceError, Fenced, InterruptOutcome, Interruption, ProcessFact, Standing,
};
use cs_model::{MachineId, OperationId, RunId};

use super::{Boxed, Remote, lost};
use crate::invariant::Event;

fn away() -> FenceError {
    FenceError::Away(lost())
}

#[async_trait]
impl AttemptRecord for Remote {
    async fn standing(&self, attempt: &Attempt) -> Result<Fenced<Standing>, FenceError> {
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
        let send = || {
            let (world, attempt, process) = (Arc::clone(&self.0.world), *attempt, process.clone());
            Box::pin(async move {
                let answer = world.record.record_process(&attempt, &process).await;
                world.see(&Event::Step);
                answer
            }) as Boxed<_>
        };
        self.send("record process", away, send).await
    }

    async fn clear_process(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
    ) -> Result<Fenced<()>, FenceError> {
        let send = || {
            let (world, attempt, process) = (Arc::clone(&self.0.world), *attempt, process.clone());
            Box::pin(async move {
                let answer = world.record.clear_process(&attempt, &process).await;
                world.see(&Event::Step);
                answer
            }) as Boxed<_>
        };
        self.send("clear process", away, send).await
    }

    async fn mark_incomplete(
        &self,
        attempt: &Attempt,
        process: &ProcessFact,
        left: &str,
    ) -> Result<Fenced<()>, FenceError> {
        self.0.world.record.mark_incomplete(attempt, process, left).await
    }

    async fn interrupt(
        &self,
        machine: MachineId,
        operation: OperationId,
        attempts: &[Interruption],
    ) -> Result<Vec<(RunId, InterruptOutcome)>, FenceError> {
        let send = || {
            let (world, attempts) = (Arc::clone(&self.0.world), attempts.to_vec());
            Box::pin(async move {
                let answer = world.record.interrupt(machine, operation, &attempts).await;
                if let Ok(outcomes) = &answer {
                    world.count("interruptions");
                    world.note(format_args!("{operation} interrupts: {outcomes:?}"));
                }
                world.see(&Event::Step);
                answer
            }) as Boxed<_>
        };
        self.send("interrupt", away, send).await
    }
}
