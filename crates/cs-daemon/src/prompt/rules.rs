//! The standing rules in a prompt.

use cs_journal::ClaimedRun;
use cs_record::{RunBrief, StandingRule};

use super::data::fenced;
use crate::attempt::Conversation;

/// The rules as they stand now. An agent that may remember others is told so even when there are none: a rule that was removed must
/// not go on in its memory (OW-8).
pub(super) fn rules_block(
    claimed: &ClaimedRun,
    brief: &RunBrief,
    conversation: &Conversation,
) -> Option<String> {
    let may_remember = claimed.epoch.get() > 1 || conversation.session.is_some();
    if brief.rules.is_empty() {
        return may_remember.then(|| {
            "--- Standing rules ---\nThere are none now. Whatever standing rules you were told before hold no longer.".to_owned()
        });
    }
    let rules = brief.rules.iter().map(|rule| one(rule, brief));
    let rules: Vec<String> = rules.collect();
    Some(format!(
        "--- Standing rules ---\nPeople have set these rules: keep to them. They are all that hold now, and take the place of all \
         standing rules that you were told before.\n{}",
        rules.join("\n")
    ))
}

fn one(rule: &StandingRule, brief: &RunBrief) -> String {
    let whose = match (rule.codebase, &brief.codebase) {
        (None, _) => "for all work".to_owned(),
        (Some(_), Some(name)) => format!("for work on {name}"),
        (Some(_), None) => "for work on this codebase".to_owned(),
    };
    format!("Rule {}, {whose}:\n{}", rule.id.short(), fenced(&rule.body))
}
