//! Acts of running agents.

use async_trait::async_trait;
use cs_fence::{Attempt, Fenced, Standing};
use cs_model::AskId;
use cs_settle::NewAsk;

use super::Record;
use crate::store::{Facts, RowStore, Select};
use crate::{AgentActs, Ask, RecordError, Writes, rules};

#[async_trait]
impl<S: RowStore> AgentActs for Record<S> {
    async fn ask(&self, attempt: &Attempt, ask: &NewAsk) -> Result<Fenced<()>, RecordError> {
        let rule = |facts: &Facts| match facts.cards.first() {
            Some(card) => Ok(rules::ask(card, attempt, ask, facts.now)?),
            None => Ok((Writes::default(), unknown(attempt))),
        };
        self.decide_plain(&Select::Runs(vec![attempt.run]), rule).await?
    }

    async fn settle_ask(
        &self,
        attempt: &Attempt,
        ask: AskId,
        body: &str,
    ) -> Result<Fenced<Ask>, RecordError> {
        let rule = |facts: &Facts| match facts.cards.first() {
            Some(card) => Ok(rules::settle_ask(card, attempt, ask, body, facts.now)?),
            None => Ok((Writes::default(), unknown(attempt))),
        };
        self.decide_plain(&Select::Runs(vec![attempt.run]), rule).await?
    }
}

fn unknown<T>(attempt: &Attempt) -> Fenced<T> {
    let run = attempt.run;
    Fenced::Stale(Standing { run, row: None })
}
