use serde::Deserialize;

use super::super::codex::Tokens;
use super::super::read::{Object, Words};
use crate::{UsageTotals, read_json};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(rename = "type")]
    kind: Words,
    payload: Payload,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    #[serde(rename = "type")]
    kind: Words,
    usage: Object<Tokens>,
    thread_token_usage: Object<Tokens>,
    info: Option<Info>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    total_token_usage: Tokens,
}

/// What a line tells of what was used.
pub(super) enum Told {
    /// A request of the model, told as soon as it is answered. Versions before 0.171 do not.
    Request {
        used: UsageTotals,
        /// What all requests of the conversation have used by then.
        all: UsageTotals,
    },
    /// What the conversation has used, told when the tools that a request wanted are done. A request whose tools were killed
    /// is never in it.
    Conversation(UsageTotals),
}

/// What a line tells of what was used.
pub(super) fn told(line: &[u8]) -> Option<Told> {
    let line: Line = read_json(line).ok()?;
    let payload = line.payload;
    if line.kind.or_empty() == "token_usage_record" {
        let (used, all) = (payload.usage.0.totals(), payload.thread_token_usage.0.totals());
        return known(used).map(|used| Told::Request { used, all });
    }
    if payload.kind.or_empty() != "token_count" {
        return None;
    }
    known(payload.info?.total_token_usage.totals()).map(Told::Conversation)
}

fn known(used: UsageTotals) -> Option<UsageTotals> {
    (used != UsageTotals::default()).then_some(used)
}
