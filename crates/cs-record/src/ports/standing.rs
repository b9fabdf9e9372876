//! Standing rules: what people want all agents to keep to.

use std::fmt;

use async_trait::async_trait;
use cs_model::{CodebaseId, Person, RuleId};

use crate::{RecordError, StandingRule};

/// A new standing rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddRule {
    /// Its id, made by the caller: adding it twice writes it once.
    pub rule: RuleId,
    /// The codebase whose agents are told; nothing tells all.
    pub codebase: Option<CodebaseId>,
    /// The words: 1 byte to 64 KiB, not only white space.
    pub body: String,
    /// Who says so.
    pub person: Person,
}

/// The standing rules of the record. A change holds from the next start of each agent on, also one that goes on with its
/// conversation; a daemon need not run.
#[async_trait]
pub trait StandingRules: fmt::Debug + Send + Sync {
    /// Adds a rule.
    ///
    /// # Errors
    /// Refused for an empty or too long text; not found for an unknown codebase.
    async fn add_rule(&self, add: &AddRule) -> Result<StandingRule, RecordError>;

    /// Lists all rules as agents are told them: those for all, then those of codebases, each in the order in which they were made.
    ///
    /// # Errors
    /// When the record cannot answer, and when any of them does not decode: agents are never told a part of them.
    async fn standing_rules(&self) -> Result<Vec<StandingRule>, RecordError>;

    /// Finds a rule by its id as [`find_card`](crate::CardReads::find_card) finds a card.
    ///
    /// # Errors
    /// Not found; ambiguous when several fit.
    async fn find_rule(&self, given: &str) -> Result<RuleId, RecordError>;

    /// Writes other words for a rule, which keeps its place; the last one wins. The same words change nothing.
    ///
    /// # Errors
    /// Refused for an empty or too long text; not found for an unknown rule.
    async fn edit_rule(&self, rule: RuleId, body: &str, person: &Person)
    -> Result<StandingRule, RecordError>;

    /// Removes a rule; says whether it was there.
    ///
    /// # Errors
    /// When the record cannot answer.
    async fn remove_rule(&self, rule: RuleId) -> Result<bool, RecordError>;
}
