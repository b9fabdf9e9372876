//! What an attempt may use beyond what its shim looks at: only who reads what the agent says can tell.

use std::time::Duration;

use cs_harness::HarnessKind;
use serde::{Deserialize, Serialize};

/// How long the first word of an agent may take. The slowest that was measured took 10 s on a busy machine.
const START: Duration = Duration::from_secs(90);
/// How long an agent may say and do nothing.
const IDLE: Duration = Duration::from_secs(600);
/// The same for an agent whose tools are heard of only when they have ended: the longest build that is usual.
const LONG_IDLE: Duration = Duration::from_secs(60 * 60);

/// Bounds of one attempt, and of the card that it belongs to; nothing is bounded where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// How long its first word may take.
    #[serde(default)]
    pub start: Option<Duration>,
    /// How long it may say and do nothing. To try something again is nothing; a tool that runs is something.
    #[serde(default)]
    pub idle: Option<Duration>,
    /// How often it may ask its model.
    #[serde(default)]
    pub turns: Option<u64>,
    /// How many tokens may go in and out, as the agent counts them.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// How much it may cost, in millionths of a US dollar.
    #[serde(default)]
    pub micro_usd: Option<u64>,
    /// How much its card may cost in its whole life, in millionths of a US dollar.
    #[serde(default)]
    pub card_micro_usd: Option<u64>,
}

impl Bounds {
    /// What holds for an agent where nobody says anything. A command that is no agent of its own kind may be silent for as long as it
    /// likes: its answer may be all that it ever says.
    #[must_use]
    pub fn usual(kind: HarnessKind) -> Self {
        let idle = match kind {
            // It tells of a tool only when that has ended.
            HarnessKind::Opencode => LONG_IDLE,
            HarnessKind::Claude | HarnessKind::Codex | HarnessKind::Pi | HarnessKind::Acp => IDLE,
            HarnessKind::Plain | HarnessKind::JsonLines => return Self::default(),
        };
        Self {
            start: Some(START),
            idle: Some(idle),
            ..Self::default()
        }
    }

    /// How much an attempt may cost on a card that has cost so much already; nothing where that is not bounded.
    pub(crate) fn most_micro_usd(&self, spent_micro_usd: u64) -> Option<u64> {
        let left = self
            .card_micro_usd
            .map(|most| most.saturating_sub(spent_micro_usd));
        [self.micro_usd, left].into_iter().flatten().min()
    }

    /// Says, for people, that a card has used up what it may cost; nothing where it has not.
    pub(crate) fn card_is_used_up(&self, spent_micro_usd: u64) -> Option<String> {
        let most = self.card_micro_usd.filter(|most| spent_micro_usd >= *most)?;
        Some(format!(
            "the card has cost {} USD, and {} USD is all that one may (`card_usd` in the configuration)",
            usd(spent_micro_usd),
            usd(most)
        ))
    }
}

/// Writes an amount of money to the cent, rounded up.
pub(crate) fn usd(micro_usd: u64) -> String {
    let cents = micro_usd.div_ceil(10_000);
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_may_cost_what_is_left_to_its_card() {
        let bounds = Bounds {
            micro_usd: Some(500),
            card_micro_usd: Some(2_000_000),
            ..Bounds::default()
        };
        assert_eq!(bounds.most_micro_usd(0), Some(500));
        assert_eq!(bounds.most_micro_usd(1_999_900), Some(100));
        assert_eq!(bounds.card_is_used_up(1_999_999), None);
        let said = bounds.card_is_used_up(2_345_000).expect("it is");
        assert!(
            said.contains("2.35 USD") && said.contains("2.00 USD") && said.contains("`card_usd`"),
            "{said}"
        );
        assert_eq!(Bounds::default().most_micro_usd(7), None);
        assert_eq!(Bounds::default().card_is_used_up(u64::MAX), None);
    }
}
