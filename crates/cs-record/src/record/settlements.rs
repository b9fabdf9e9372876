//! Outcomes.

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced};
use cs_settle::{Answer, Answered, Capped, GaveUp, GiveUp, SettleError, SettlementRecord, Used};

use super::Record;
use crate::store::{Facts, RowStore};
use crate::{Aggregate, rules};

#[async_trait]
impl<S: RowStore> SettlementRecord for Record<S> {
    #[tracing::instrument(level = "debug", skip_all, fields(run = %attempt.run, epoch = %attempt.epoch))]
    async fn answer(&self, attempt: &Attempt, answer: &Answer) -> Result<Fenced<Answered>, SettleError> {
        let rule =
            |card: &Aggregate, facts: &Facts| rules::answer(card, attempt, answer, facts.now, &*self.ids);
        Ok(self.fenced(attempt.run, rule).await?)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(run = %attempt.run, epoch = %attempt.epoch))]
    async fn give_up(&self, attempt: &Attempt, failure: &GiveUp) -> Result<Fenced<GaveUp>, SettleError> {
        let rule = |card: &Aggregate, facts: &Facts| rules::give_up(card, attempt, failure, facts.now);
        Ok(self.fenced(attempt.run, rule).await?)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(run = %attempt.run, epoch = %attempt.epoch))]
    async fn capped(&self, attempt: &Attempt, capped: &Capped) -> Result<Fenced<GaveUp>, SettleError> {
        let rule = |card: &Aggregate, facts: &Facts| rules::capped(card, attempt, capped, facts.now);
        Ok(self.fenced(attempt.run, rule).await?)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(run = %attempt.run, epoch = %attempt.epoch))]
    async fn used(&self, attempt: &Attempt, used: &Used) -> Result<Fenced<()>, SettleError> {
        let rule = |card: &Aggregate, facts: &Facts| rules::used(card, attempt, used, facts.now);
        Ok(self.fenced(attempt.run, rule).await?)
    }
}
