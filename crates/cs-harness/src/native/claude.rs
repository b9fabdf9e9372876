//! Claude Code.

mod launch;
mod lines;
mod result;

pub(super) use result::Tokens;

use super::own::{Language, no_noise};
use crate::HarnessKind;

/// Claude Code.
pub(crate) const CLAUDE: Language = Language {
    kind: HarnessKind::Claude,
    launch: launch::launch,
    is_noise: no_noise,
    events: lines::events,
};
