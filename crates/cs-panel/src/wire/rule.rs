//! Standing rules as JSON.

use cs_model::{CodebaseId, RuleId, Time};
use cs_record::StandingRule;
use serde::Serialize;

/// A standing rule.
#[derive(Debug, Serialize)]
pub(crate) struct RuleWire {
    pub(crate) id: RuleId,
    /// The codebase whose agents are told it; `null` for all.
    pub(crate) codebase: Option<CodebaseId>,
    pub(crate) codebase_name: Option<String>,
    pub(crate) body: String,
    pub(crate) version: u32,
    pub(crate) by: String,
    pub(crate) created_at: Time,
    pub(crate) updated_at: Time,
}

impl RuleWire {
    pub(crate) fn of(rule: &StandingRule, codebase_name: Option<String>) -> Self {
        Self {
            id: rule.id,
            codebase: rule.codebase,
            codebase_name,
            body: rule.body.clone(),
            version: rule.version,
            by: rule.by.to_string(),
            created_at: rule.created_at,
            updated_at: rule.updated_at,
        }
    }
}
