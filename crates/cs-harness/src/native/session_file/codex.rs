use serde::Deserialize;

use super::super::codex::Tokens;
use super::super::read::Words;
use crate::{UsageTotals, read_json};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    payload: Payload,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    #[serde(rename = "type")]
    kind: Words,
    info: Option<Info>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    total_token_usage: Tokens,
}

/// What the conversation has used after a request of the model.
pub(super) fn used(line: &[u8]) -> Option<UsageTotals> {
    let line: Line = read_json(line).ok()?;
    if line.payload.kind.or_empty() != "token_count" {
        return None;
    }
    let used = line.payload.info?.total_token_usage.totals();
    (used != UsageTotals::default()).then_some(used)
}
