//! Codex.

mod launch;
mod lines;

pub(super) use lines::Tokens;

use super::own::{Language, no_noise};
use crate::HarnessKind;

/// Codex.
pub(crate) const CODEX: Language = Language {
    kind: HarnessKind::Codex,
    launch: launch::launch,
    is_noise: no_noise,
    events: lines::events,
};
