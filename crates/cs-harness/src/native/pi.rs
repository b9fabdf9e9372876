//! pi, `pi -p --mode json`.
//!
//! Its exit code is always zero: the reason with which the model stopped tells. Old versions give no end mark; new ones end with
//! `agent_settled`. It repeats its messages in many lines, which are left out before they are read.

mod launch;
mod message;

use super::own::Language;
use super::wire;
use crate::HarnessKind;

/// pi.
pub(crate) const PI: Language = Language {
    kind: HarnessKind::Pi,
    launch: launch::launch,
    is_noise: message::is_repetition,
    events: |line| message::events(line).unwrap_or_else(|| wire::not_understood(line)),
};
