//! What is different between versions of one agent: this table alone knows it.

use crate::UsageSpan;
use crate::version::numbers;

/// Tells since when Claude Code of this version (`2.1.332`) counts its total of the cost; of a version that is not known, as the oldest
/// one that was looked at does.
pub(crate) fn cost_total(version: Option<&str>) -> UsageSpan {
    let version = version.and_then(numbers).unwrap_or([0; 3]);
    let row = COST_TOTAL.iter().rfind(|(since, _)| *since <= version);
    row.map_or(UsageSpan::Process, |(_, span)| *span)
}

/// Each row holds from its version on. Where a change lies between two versions that were looked at, it begins with the later.
const COST_TOTAL: &[([u32; 3], UsageSpan)] =
    &[([0, 0, 0], UsageSpan::Process), ([2, 1, 332], UsageSpan::Session)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_from_its_version_on() {
        let table = [
            (None, UsageSpan::Process),
            (Some("odd"), UsageSpan::Process),
            (Some("2.1.197 (Claude Code)"), UsageSpan::Process),
            (Some("2.1.331"), UsageSpan::Process),
            (Some("2.1.332"), UsageSpan::Session),
            (Some("2.2"), UsageSpan::Session),
            (Some("claude 3"), UsageSpan::Session),
        ];
        for (version, span) in table {
            assert_eq!(cost_total(version), span, "{version:?}");
        }
    }
}
