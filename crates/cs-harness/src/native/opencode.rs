//! opencode, `opencode run --format json`.
//!
//! It gives no end mark: the process ends after the last step, and the reason of that step tells. An error that a good step
//! follows is mended. Its exit code is wrong in both directions.

mod launch;
mod message;

pub(crate) use launch::OPENCODE_CONFIG;

use super::own::{Language, no_noise};
use super::wire;
use crate::HarnessKind;

/// opencode.
pub(crate) const OPENCODE: Language = Language {
    kind: HarnessKind::Opencode,
    launch: launch::launch,
    is_noise: no_noise,
    events: |line| message::events(line).unwrap_or_else(|| wire::not_understood(line)),
};
