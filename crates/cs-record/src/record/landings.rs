//! Results of landings.

use async_trait::async_trait;
use cs_fence::LandingAttempt;

use super::Record;
use crate::store::{Facts, RowStore, Select, StoreError};
use crate::{Aggregate, FencedLanding, LandingRecord, LandingResult, RecordError, Writes, rules};

#[async_trait]
impl<S: RowStore> LandingRecord for Record<S> {
    async fn settle_landing(
        &self,
        attempt: &LandingAttempt,
        result: &LandingResult,
    ) -> Result<FencedLanding, RecordError> {
        self.fenced_landing(attempt, |card, facts| {
            rules::settle_landing(card, attempt, result, facts.now, &*self.ids)
        })
        .await
    }

    async fn release_landing(&self, attempt: &LandingAttempt) -> Result<FencedLanding, RecordError> {
        self.fenced_landing(attempt, |card, facts| {
            rules::release_landing(card, attempt, facts.now)
        })
        .await
    }
}

impl<S: RowStore> Record<S> {
    async fn fenced_landing(
        &self,
        attempt: &LandingAttempt,
        rule: impl Fn(&Aggregate, &Facts) -> (Writes, FencedLanding) + Send + Sync,
    ) -> Result<FencedLanding, RecordError> {
        let landing = attempt.landing;
        let select = Select::Landing(landing);
        let decided = self
            .decide_plain(&select, |facts| match facts.cards.first() {
                Some(card) => Ok::<_, StoreError>(rule(card, facts)),
                None => Ok((Writes::default(), FencedLanding::Stale { landing, row: None })),
            })
            .await?;
        Ok(decided?)
    }
}
