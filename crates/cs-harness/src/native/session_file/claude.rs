use serde::Deserialize;

use super::super::claude::Tokens;
use super::super::read::Words;
use crate::{UsageTotals, read_json};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(rename = "type")]
    kind: Words,
    message: Option<Message>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    id: Words,
    usage: Tokens,
}

/// What a message of the model has used, with its name. Each of its parts takes a line.
pub(super) fn used(line: &[u8]) -> Option<(String, UsageTotals)> {
    let line: Line = read_json(line).ok()?;
    if line.kind.or_empty() != "assistant" {
        return None;
    }
    let message = line.message?;
    let used = message.usage.totals();
    (used != UsageTotals::default()).then_some((message.id.0?, used))
}
