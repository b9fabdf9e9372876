//! Standing rules.

use async_trait::async_trait;
use cs_model::{Person, RuleId};

use super::Record;
use super::reads::{digits, ends_with, the_one};
use crate::rules::check_rule;
use crate::store::RowStore;
use crate::{AddRule, RecordError, StandingRule, StandingRules};

#[async_trait]
impl<S: RowStore> StandingRules for Record<S> {
    async fn add_rule(&self, add: &AddRule) -> Result<StandingRule, RecordError> {
        check_rule(&add.body)?;
        if let Some(codebase) = add.codebase {
            let known = self.store.codebases().await?;
            if !known.iter().any(|known| known.id == codebase) {
                return Err(RecordError::NotFound {
                    what: "codebase",
                    name: codebase.to_string(),
                });
            }
        }
        Ok(self.store.add_rule(add).await?)
    }

    async fn standing_rules(&self) -> Result<Vec<StandingRule>, RecordError> {
        Ok(self.store.standing_rules().await?)
    }

    async fn find_rule(&self, given: &str) -> Result<RuleId, RecordError> {
        let all = self.store.standing_rules().await?;
        let fits = digits(given).map(|digits| {
            let ids = all.iter().map(|rule| rule.id);
            ids.filter(|id| ends_with(id, &digits)).collect()
        });
        the_one("rule", given, fits.unwrap_or_default())
    }

    async fn edit_rule(
        &self,
        rule: RuleId,
        body: &str,
        person: &Person,
    ) -> Result<StandingRule, RecordError> {
        check_rule(body)?;
        let edited = self.store.edit_rule(rule, body, person).await?;
        edited.ok_or_else(|| RecordError::NotFound {
            what: "rule",
            name: rule.to_string(),
        })
    }

    async fn remove_rule(&self, rule: RuleId) -> Result<bool, RecordError> {
        Ok(self.store.remove_rule(rule).await?)
    }
}
