//! Outcomes on their way.

use std::sync::Arc;

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, LandingAttempt};
use cs_record::{FencedLanding, LandingRecord, LandingResult, RecordError};
use cs_settle::{Answer, Answered, Capped, GaveUp, GiveUp, SettleError, SettlementRecord, Used};

use super::{Boxed, Remote, lost};
use crate::broken::{self, Mutant, landing_taken_for, taken_for};
use crate::invariant::{Deed, Told};

fn away() -> SettleError {
    SettleError::Away(lost())
}

#[async_trait]
impl SettlementRecord for Remote {
    async fn answer(&self, attempt: &Attempt, answer: &Answer) -> Result<Fenced<Answered>, SettleError> {
        let request = || {
            let (world, attempt, mut answer) = (Arc::clone(&self.0.world), *attempt, answer.clone());
            Box::pin(async move {
                broken::answer_on_its_way(&world, &mut answer);
                let taken = taken_for(&world, Mutant::NoFenceForOutcomes, attempt);
                let settled = world.record.answer(&taken, &answer).await;
                match &settled {
                    Ok(Fenced::Stale(standing)) => {
                        world.count("stale answers");
                        world.note(format_args!("{attempt} is stale: {standing}"));
                    }
                    Ok(Fenced::Applied(done)) => {
                        world.count("answers");
                        world.note(format_args!("{attempt} answered: {done:?}"));
                        broken::answer_taken(&world, done.turn);
                    }
                    Err(_) => {}
                }
                settled
            }) as Boxed<_>
        };
        let (attempt, answer) = (*attempt, answer.clone());
        let deed = move |settled: &Fenced<Answered>| Deed::Told {
            attempt,
            told: Told::Answer(Box::new(answer.clone())),
            applied: matches!(settled, Fenced::Applied(_)),
        };
        self.write("answer", away, request, deed).await
    }

    async fn give_up(&self, attempt: &Attempt, failure: &GiveUp) -> Result<Fenced<GaveUp>, SettleError> {
        let request = || {
            let (world, attempt, mut failure) = (Arc::clone(&self.0.world), *attempt, failure.clone());
            Box::pin(async move {
                broken::failure_on_its_way(&world, &mut failure);
                let taken = taken_for(&world, Mutant::NoFenceForOutcomes, attempt);
                let settled = world.record.give_up(&taken, &failure).await;
                if let Ok(Fenced::Applied(done)) = &settled {
                    world.count("failures");
                    world.note(format_args!("{attempt} gave up: {done:?}"));
                    broken::failure_taken(&world, attempt.run);
                }
                settled
            }) as Boxed<_>
        };
        let (attempt, class) = (*attempt, failure.class);
        let deed = move |settled: &Fenced<GaveUp>| Deed::Told {
            attempt,
            told: Told::Failure(class),
            applied: matches!(settled, Fenced::Applied(_)),
        };
        self.write("give up", away, request, deed).await
    }

    async fn capped(&self, attempt: &Attempt, capped: &Capped) -> Result<Fenced<GaveUp>, SettleError> {
        let request = || {
            let (world, attempt, capped) = (Arc::clone(&self.0.world), *attempt, capped.clone());
            Box::pin(async move {
                let taken = taken_for(&world, Mutant::NoFenceForOutcomes, attempt);
                let settled = world.record.capped(&taken, &capped).await;
                if let Ok(Fenced::Applied(_)) = &settled {
                    world.count("budgets used up");
                }
                settled
            }) as Boxed<_>
        };
        let attempt = *attempt;
        let deed = move |settled: &Fenced<GaveUp>| Deed::Told {
            attempt,
            told: Told::Capped,
            applied: matches!(settled, Fenced::Applied(_)),
        };
        self.write("capped", away, request, deed).await
    }

    async fn used(&self, attempt: &Attempt, used: &Used) -> Result<Fenced<()>, SettleError> {
        let request = || {
            let (world, attempt, used) = (Arc::clone(&self.0.world), *attempt, used.clone());
            Box::pin(async move {
                let counted = world.record.used(&attempt, &used).await;
                if let Ok(Fenced::Applied(())) = &counted {
                    world.count("attempts counted apart from their outcome");
                }
                counted
            }) as Boxed<_>
        };
        let attempt = *attempt;
        let deed = move |counted: &Fenced<()>| Deed::Counted {
            attempt,
            applied: matches!(counted, Fenced::Applied(())),
        };
        self.write("used", away, request, deed).await
    }
}

#[async_trait]
impl LandingRecord for Remote {
    async fn settle_landing(
        &self,
        attempt: &LandingAttempt,
        result: &LandingResult,
    ) -> Result<FencedLanding, RecordError> {
        let request = || {
            let (world, attempt, result) = (Arc::clone(&self.0.world), *attempt, result.clone());
            Box::pin(async move {
                let taken = landing_taken_for(&world, attempt);
                let settled = world.record.settle_landing(&taken, &result).await;
                if let Ok(FencedLanding::Applied) = &settled {
                    world.count("landings");
                }
                settled
            }) as Boxed<_>
        };
        let (attempt, result) = (*attempt, result.clone());
        let deed = move |settled: &FencedLanding| Deed::Landed {
            attempt,
            result: result.clone(),
            applied: matches!(settled, FencedLanding::Applied),
        };
        self.write("settle landing", super::away, request, deed).await
    }

    async fn release_landing(&self, _: &LandingAttempt) -> Result<FencedLanding, RecordError> {
        self.nobody_asks("release landing")
    }
}
