//! Outcomes on their way.

use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, LandingAttempt};
use cs_model::{Epoch, RunId};
use cs_record::{FencedLanding, LandingRecord, LandingResult, RecordError};
use cs_settle::{Answer, Answered, Capped, GaveUp, GiveUp, SettleError, SettlementRecord};

use super::{Boxed, Remote, lost};
use crate::invariant::Event;
use crate::profile::Mutant;
use crate::world::World;

fn away() -> SettleError {
    SettleError::Away(lost())
}

/// The present epoch of a run.
fn present(world: &World, run: RunId) -> Option<Epoch> {
    let rows = world.store.rows()?;
    rows.runs.iter().find(|row| row.id == run).map(|row| row.epoch)
}

/// What the record takes an attempt for.
fn taken_for(world: &World, attempt: Attempt) -> Attempt {
    if !world.is_mutant(Mutant::NoFence) {
        return attempt;
    }
    let epoch = present(world, attempt.run).unwrap_or(attempt.epoch);
    world.attempt(attempt.run, epoch).unwrap_or(attempt)
}

#[async_trait]
impl SettlementRecord for Remote {
    async fn answer(&self, attempt: &Attempt, answer: &Answer) -> Result<Fenced<Answered>, SettleError> {
        let send = || {
            let (world, attempt, answer) = (Arc::clone(&self.0.world), *attempt, answer.clone());
            Box::pin(async move {
                let present = present(&world, attempt.run);
                let settled = world.record.answer(&taken_for(&world, attempt), &answer).await;
                if let Ok(Fenced::Stale(standing)) = &settled {
                    world.count("stale answers");
                    world.note(format_args!("{attempt} is stale: {standing}"));
                }
                if let Ok(Fenced::Applied(done)) = &settled {
                    world.count("answers");
                    world.note(format_args!("{attempt} answered: {done:?}"));
                    world.see(&Event::Settled { attempt, present });
                }
                settled
            }) as Boxed<_>
        };
        self.send("answer", away, send).await
    }

    async fn give_up(&self, attempt: &Attempt, failure: &GiveUp) -> Result<Fenced<GaveUp>, SettleError> {
        let send = || {
            let (world, attempt, failure) = (Arc::clone(&self.0.world), *attempt, failure.clone());
            Box::pin(async move {
                let present = present(&world, attempt.run);
                let settled = world.record.give_up(&taken_for(&world, attempt), &failure).await;
                if let Ok(Fenced::Applied(done)) = &settled {
                    world.count("failures");
                    world.note(format_args!("{attempt} gave up: {done:?}"));
                    world.see(&Event::Settled { attempt, present });
                }
                settled
            }) as Boxed<_>
        };
        self.send("give up", away, send).await
    }

    async fn capped(&self, attempt: &Attempt, capped: &Capped) -> Result<Fenced<GaveUp>, SettleError> {
        self.0.world.record.capped(attempt, capped).await
    }
}

#[async_trait]
impl LandingRecord for Remote {
    async fn settle_landing(
        &self,
        attempt: &LandingAttempt,
        result: &LandingResult,
    ) -> Result<FencedLanding, RecordError> {
        let send = || {
            let (world, attempt, result) = (Arc::clone(&self.0.world), *attempt, result.clone());
            Box::pin(async move {
                let settled = world.record.settle_landing(&attempt, &result).await;
                if let Ok(FencedLanding::Applied) = &settled {
                    world.count("landings");
                }
                world.see(&Event::Step);
                settled
            }) as Boxed<_>
        };
        self.send("settle landing", super::away, send).await
    }

    async fn release_landing(&self, attempt: &LandingAttempt) -> Result<FencedLanding, RecordError> {
        self.0.world.record.release_landing(attempt).await
    }
}
