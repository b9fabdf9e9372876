use crate::version::numbers;
use crate::{HarnessKind, UsageSpan};

/// What is different between versions of an agent, as far as a caller has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// Whether a conversation can be gone on with in another directory than it began in. Where it cannot, the agent says that it
    /// does not know the conversation.
    pub resumes_elsewhere: bool,
    /// Since when the agent's own total of the cost counts; nothing where it tells none.
    pub cost_total: Option<UsageSpan>,
}

/// Tells the quirks of an agent in this version (`2.1.332`), or in the oldest one known where the version is not.
pub fn quirks(kind: HarnessKind, version: Option<&str>) -> Quirks {
    let version = version.and_then(numbers).unwrap_or([0; 3]);
    let row = TABLE
        .iter()
        .filter(|(of, since, _)| *of == kind && *since <= version)
        .max_by_key(|(_, since, _)| *since);
    row.map_or(PLAIN, |(_, _, quirks)| *quirks)
}

const PLAIN: Quirks = Quirks {
    resumes_elsewhere: true,
    cost_total: None,
};

/// Each row holds from its version on. Where a change lies between two versions that were looked at, it begins with the later.
const TABLE: &[(HarnessKind, [u32; 3], Quirks)] = &[
    (
        HarnessKind::Claude,
        [0, 0, 0],
        Quirks {
            resumes_elsewhere: false,
            cost_total: Some(UsageSpan::Process),
        },
    ),
    (
        HarnessKind::Claude,
        [2, 1, 332],
        Quirks {
            resumes_elsewhere: true,
            cost_total: Some(UsageSpan::Session),
        },
    ),
    (HarnessKind::Codex, [0, 0, 0], PLAIN),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_from_its_version_on() {
        let of = |version| quirks(HarnessKind::Claude, version).cost_total;
        let table = [
            (None, UsageSpan::Process),
            (Some("odd"), UsageSpan::Process),
            (Some("2.1.197 (Claude Code)"), UsageSpan::Process),
            (Some("2.1.332"), UsageSpan::Session),
            (Some("3"), UsageSpan::Session),
        ];
        for (version, span) in table {
            assert_eq!(of(version), Some(span), "{version:?}");
        }
        assert_eq!(quirks(HarnessKind::Codex, Some("codex-cli 0.171.0")), PLAIN);
    }
}
